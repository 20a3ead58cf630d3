package sealprobe

import (
	"net"
	"strconv"

	"github.com/bellglass/bellglass/internal/netns"
)

// NativeCommand is the hidden command of the program that makes the native
// probes; [Native] plays it.
const NativeCommand = "seal-native"

// secretVariable is in the environment of the service, and must not be found.
const secretVariable = "BELLGLASS_PROBE_SECRET"

// vsockPort is the sentinel's port for virtual machines' sockets, on this
// machine's own loopback; the host is never called.
const vsockPort = 21001

// nativeTask is one native probe as the program inside is told of it.
type nativeTask struct {
	N    int    `json:"n"`
	How  string `json:"how"`
	Addr string `json:"addr,omitempty"` // an address, or one with port
	Arg  string `json:"arg,omitempty"`  // a path, a name, a number
}

// nativeAnswer is what came of it, in the words of the program: only that a
// secret is among it is believed.
type nativeAnswer struct {
	N   int    `json:"n"`
	Got string `json:"got,omitempty"`
	Err string `json:"err,omitempty"`
}

// nativeTasks are the native probes of a phase.
// proxyPort is the one at which the program may reach a proxy.
func nativeTasks(all []probe, ph phase, pid, ipc int, proxyPort uint16) []nativeTask {
	var tasks []nativeTask
	for n, p := range all {
		if p.from != "native" {
			continue
		}
		t := probeTarget{p.place, n, ph}
		task := nativeTask{N: n, How: p.how, Arg: p.arg}
		switch p.how {
		case "tcp", "udp", "fastopen", "mptcp":
			host := t.host()
			if p.place == link6 {
				host += "%eth0"
			}
			task.Addr = net.JoinHostPort(host, strconv.Itoa(int(t.port(80))))
		case "proxy-port":
			task.How, task.Addr = "tcp", net.JoinHostPort(t.host(), strconv.Itoa(int(proxyPort)))
		case "ping", "icmp", "raw-ip", "frame":
			task.Addr = t.host()
		case "dns":
			task.Addr, task.Arg = net.JoinHostPort(netns.DNSServer.String(), "53"), t.name()
		case "resolve":
			task.Arg = t.name()
		case "write":
			task.Arg = writtenPath(p.arg, ph)
		case "ptrace", "signal":
			task.Arg = strconv.Itoa(pid)
		case "shm", "mqueue", "keyring":
			task.Arg = strconv.Itoa(ipc)
		case "vsock":
			task.Arg = strconv.Itoa(vsockPort)
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// writtenPath is the file that a phase's native probe writes.
func writtenPath(arg string, ph phase) string { return arg + "-" + letter(ph) }
