#!/usr/bin/env python3
"""A data plane in one file, with kubectl and nothing else: it reports on each Cable.

A cable is prepared at once; traffic flows while its node says so in the annotation cables.example.dev/carrier.
Nothing is made for a cable, so it needs no finalizer. Each report is fenced by the resourceVersion that it speaks of: one
on a cable that has changed meanwhile, or was made again under its name, is refused, and the newer one is looked at.
A crash leaves nothing half done: what is said follows from what stands on the cable alone.

$KUBECTL: the command (kubectl). The account is that of $KUBECONFIG. Needs Python 3.10.
"""
import asyncio, json, os, shlex, time
from asyncio.subprocess import DEVNULL, PIPE

KUBECTL = shlex.split(os.environ.get("KUBECTL", "kubectl"))
WATCH = "get cables.cables.example.dev --all-namespaces --watch --output-watch-events -o jsonpath={}{'\\n'}".split()
APPLY = "apply --server-side --force-conflicts --field-manager=cables --subresource=status --validate=false -f -".split()
PAUSE_S, RETRY_S = 1, 5  # before a watch that ended is begun again; before what was refused is tried again

known = {}  # (namespace, name): the cable as last seen
changed = set()  # those of them that must be looked at
news = asyncio.Event()


async def follow():
    """Keeps `known` up to date. A watch ends when the server wants it, or goes: then everything is listed again."""
    while True:
        known.clear()
        watch = await asyncio.create_subprocess_exec(*KUBECTL, *WATCH, stdout=PIPE, limit=2**24)
        async for line in watch.stdout:
            if line.endswith(b"\n"):  # the last one may be cut off
                take(json.loads(line))
        await watch.wait()
        await asyncio.sleep(PAUSE_S)


def take(event):
    cable = event["object"]
    key = cable["metadata"].get("namespace"), cable["metadata"].get("name")
    if event["type"] == "DELETED":
        known.pop(key, None)
    elif event["type"] in ("ADDED", "MODIFIED"):
        known[key] = cable
        changed.add(key)
        news.set()


async def look_again():
    """Now and then at all of them, so that what was refused is tried again. For what is said already nothing is sent."""
    while await asyncio.sleep(RETRY_S, True):
        changed.update(known)
        news.set()


def report(cable):
    """All that is said of a cable, as a function of the cable."""
    carrier = cable["metadata"].get("annotations", {}).get("cables.example.dev/carrier", "none")
    traffic = ("True", "CarrierUp") if carrier == "up" else ("False", "CarrierDown")
    ready = condition(cable, "Ready", "True", "CablePlugged", f"MTU {cable.get('spec', {}).get('mtu', 'of the device')}")
    return [ready, condition(cable, "Programmed", *traffic, f"carrier: {carrier}")]


def condition(cable, kind, status, reason, message):
    said = next((each for each in said_of(cable) if each["type"] == kind), {})
    has_flipped = said.get("status") != status
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()) if has_flipped else said["lastTransitionTime"]
    about = {"observedGeneration": cable["metadata"]["generation"], "lastTransitionTime": since}
    return {"type": kind, "status": status, "reason": reason, "message": message, **about}


def said_of(cable):
    return cable.get("status", {}).get("conditions", [])


async def speak():
    """Reports on all cables that changed in one go. One that is refused holds up none of the others."""
    while await news.wait():
        cables = [known[key] for key in changed if key in known]
        changed.clear()
        news.clear()
        wrong = [cable for cable in cables if any(said not in said_of(cable) for said in report(cable))]
        if wrong:
            await apply(wrong)


async def apply(cables):
    fences = [{key: cable["metadata"][key] for key in ("namespace", "name", "resourceVersion")} for cable in cables]
    reports = [{"metadata": fence, "status": {"conditions": report(cable)}} for cable, fence in zip(cables, fences)]
    items = [{"apiVersion": "cables.example.dev/v1", "kind": "Cable", **each} for each in reports]
    kubectl = await asyncio.create_subprocess_exec(*KUBECTL, *APPLY, stdin=PIPE, stdout=DEVNULL)
    await kubectl.communicate(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode())


async def main():  # ends when one of them fails, so that whoever started it can start it again
    await asyncio.gather(follow(), speak(), look_again())


asyncio.run(main())
