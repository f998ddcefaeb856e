"""Echo over TCP and UDP, IPv4 and IPv6: `probe.py serve PORT` and `probe.py ask ADDRESS PORT SIZE MILLISECONDS`.

SIZE is that of the IP packet a datagram travels in; it is never fragmented, in either direction."""
import errno
import json
import os
import socket
import sys
import threading

IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, DO = 10, 23, 2
HEADERS = {socket.AF_INET: 28, socket.AF_INET6: 48}


def opened(family, kind):
    one = socket.socket(family, kind)
    if family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    if kind == socket.SOCK_DGRAM and family == socket.AF_INET:
        one.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, DO)
    if kind == socket.SOCK_DGRAM and family == socket.AF_INET6:
        one.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, DO)
    return one


def echo_datagrams(one):
    while True:
        data, peer = one.recvfrom(70000)
        try:
            one.sendto(data, peer)
        except OSError:
            pass  # The asker finds no answer.


def tell_peers(one):
    while True:
        connection, peer = one.accept()
        with connection:
            try:
                connection.sendall(peer[0].encode())
            except OSError:
                pass  # The asker has gone.


def serve(port):
    for family, anywhere in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        for kind, work in ((socket.SOCK_DGRAM, echo_datagrams), (socket.SOCK_STREAM, tell_peers)):
            one = opened(family, kind)
            if kind == socket.SOCK_STREAM:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((anywhere, port))
            if kind == socket.SOCK_STREAM:
                one.listen()
            threading.Thread(target=work, args=(one,), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)


def outcome(work):
    try:
        return work()
    except TimeoutError:
        return {"error": "timeout"}
    except OSError as error:
        return {"error": errno.errorcode.get(error.errno, str(error))}


def ask(address, port, size, milliseconds):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET

    def by_tcp():
        with opened(family, socket.SOCK_STREAM) as one:
            one.settimeout(milliseconds / 1000)
            one.connect((address, port))
            return {"seenAs": one.recv(100).decode()}

    def by_udp():
        with opened(family, socket.SOCK_DGRAM) as one:
            one.settimeout(milliseconds / 1000)
            data = os.urandom(size - HEADERS[family])
            one.connect((address, port))
            one.send(data)
            return {"echoed": one.recv(70000) == data}

    print(json.dumps({"tcp": outcome(by_tcp), "udp": outcome(by_udp)}))


if sys.argv[1] == "serve":
    serve(int(sys.argv[2]))
else:
    ask(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
