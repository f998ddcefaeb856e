// Command localplane is a real Kubernetes control plane in one binary.
//
//	localplane serve [--exit-with-stdin] [--etcd-fsync] -- <kube-apiserver flags>
//	localplane controller-manager [--exit-with-stdin] <kube-controller-manager flags>
//	localplane kubectl <kubectl arguments>
//
// serve runs etcd (embedded) and kube-apiserver in one process: throw-away data has no use for a second one, and
// one process id is all that must be ended. Its files are in ./etcd of the working directory; etcd listens on Unix
// sockets there, which need no port and which no other user can open, and whose short names fit any directory. Everything is linked from the Go module proxy; nothing is patched.
//
// --exit-with-stdin ties the process to its starter: the starter holds the other end of standard input, and the kernel
// closes it however the starter ends, by SIGKILL too.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: localplane serve|controller-manager|kubectl ...")
	}
	role, args := os.Args[1], os.Args[2:]
	switch role {
	case "serve":
		os.Exit(serve(args))
	case "controller-manager":
		if len(args) > 0 && args[0] == "--exit-with-stdin" {
			args = args[1:]
			exitWithStdin()
		}
		command := controllermanager.NewControllerManagerCommand()
		command.SetArgs(args)
		os.Exit(cli.Run(command))
	case "kubectl":
		os.Args = append([]string{"kubectl"}, args...)
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	default:
		fail("unknown role %q: serve, controller-manager or kubectl", role)
	}
}

// serve starts etcd, waits until it answers, then runs kube-apiserver on it until a signal ends both.
func serve(args []string) int {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	withStdin := flags.Bool("exit-with-stdin", false, "end when standard input ends")
	fsync := flags.Bool("etcd-fsync", false, "sync etcd's log to disk (data that must survive a power cut)")
	if err := flags.Parse(args); err != nil {
		fail("%v", err)
	}
	if *withStdin {
		exitWithStdin()
	}
	config := embed.NewConfig()
	config.Name = "localplane"
	config.Dir = "etcd/data"
	config.UnsafeNoFsync = !*fsync
	config.LogLevel = "error"
	config.QuotaBackendBytes = 4 << 30
	config.MaxRequestBytes = 3 << 20
	config.ListenClientUrls, config.ListenPeerUrls = unix("etcd/client.sock"), unix("etcd/peer.sock")
	// What etcd advertises must look like host:port; in a cluster of one nobody dials it.
	advertised := []url.URL{{Scheme: "http", Host: "127.0.0.1:2380"}}
	config.AdvertiseClientUrls, config.AdvertisePeerUrls = advertised, advertised
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	if err := os.MkdirAll("etcd", 0o700); err != nil {
		fail("%v", err)
	}
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		fail("etcd: %v", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		fail("etcd: %v", err)
	case <-time.After(time.Minute):
		fail("etcd: not ready after one minute")
	}
	command := apiserver.NewAPIServerCommand()
	command.SetArgs(append(flags.Args(), "--etcd-servers=unix://etcd/client.sock"))
	code := cli.Run(command)
	etcd.Close()
	return code
}

// exitWithStdin asks this process to stop when standard input ends, and ends it after 5 s if it has not.
func exitWithStdin() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Fprintln(os.Stderr, "localplane: the starter has gone, stopping")
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		time.Sleep(5 * time.Second)
		os.Exit(3)
	}()
}

func unix(path string) []url.URL {
	return []url.URL{{Scheme: "unix", Host: path}}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, "localplane: "+format+"\n", values...)
	os.Exit(2)
}
