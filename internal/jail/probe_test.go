//go:build linux

package jail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// targets are what a probe tries to reach.
type targets struct {
	Loopback  string   // a TCP listener outside
	Interface string   // another, on an address of an interface
	Abstract  string   // a unix socket in the abstract name space
	Socket    string   // a unix socket by path
	Files     []string // to read
	Pid       int      // of who runs the tests
	Listener  string   // the one that may be reached
}

// probe is the program in the jail: it tries everything and prints a line per
// attempt, "name: ok" or "name: " and the error.
func probe() {
	var to targets
	if err := json.Unmarshal([]byte(os.Getenv("BELLGLASS_JAIL_TARGETS")), &to); err != nil {
		fmt.Println("targets:", err)
		return
	}
	try := func(name string, err error) {
		if err == nil {
			fmt.Printf("%s: ok\n", name)
		} else {
			fmt.Printf("%s: %v\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	dial := func(network, addr string) error {
		c, err := net.DialTimeout(network, addr, 2*time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		if strings.HasPrefix(network, "udp") {
			_, err = c.Write([]byte("probe"))
		}
		return err
	}
	socket := func(family, kind, protocol int) error {
		fd, err := unix.Socket(family, kind, protocol)
		unix.Close(fd)
		return err
	}
	try("listener", dial("tcp", to.Listener))
	try("tcp public", dial("tcp", "1.1.1.1:443"))
	try("tcp public v6", dial("tcp", "[2606:4700::1111]:443"))
	try("tcp metadata", dial("tcp", "169.254.169.254:80"))
	try("udp public", dial("udp", "8.8.8.8:53"))
	try("udp public v6", dial("udp", "[2001:4860:4860::8888]:53"))
	try("loopback outside", dial("tcp", to.Loopback))
	try("interface outside", dial("tcp", to.Interface))
	try("abstract socket", dial("unix", "@"+to.Abstract))
	try("socket by path", dial("unix", to.Socket))
	try("raw socket", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP))
	try("ping socket", socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP))
	try("packet socket", socket(unix.AF_PACKET, unix.SOCK_RAW, 0))
	try("vsock", socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0))
	try("multipath tcp", socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP))
	for _, f := range to.Files {
		_, err := os.ReadFile(f)
		try("read "+f, err)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	_, err := (&net.Resolver{PreferGo: true}).LookupHost(ctx, "name.test")
	try("lookup", err)
	if d := time.Since(start); d > 2*time.Second {
		fmt.Println("slow lookup:", d)
	}
	_, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", to.Pid))
	try("environment outside", err)
	try("signal outside", unix.Kill(to.Pid, 0))
	err = unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "")
	if err == nil {
		unix.Unmount("/tmp", 0)
	}
	try("mount", err)
	try("ptrace", unix.PtraceSeize(os.Getppid()))
	_, err = unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_USER_KEYRING, 1, 0, 0)
	try("keyring", err)
	_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	try("io_uring", errnoOf(errno, unix.EFAULT))
	for name, path := range map[string]string{"write the root": "/", "write /usr": "/usr"} {
		f, err := os.CreateTemp(path, "bellglass-probe-") // the control leaves nothing, either
		if err == nil {
			f.Close()
			os.Remove(f.Name())
		}
		try(name, err)
	}
	for _, dir := range []string{"/home", "/root", "/run", "/var/run", "/mnt", "/media", "/srv", "/opt", "/sys", "/boot"} {
		names, _ := os.ReadDir(dir)
		fmt.Printf("entries of %s: %d\n", dir, len(names))
	}
	wd, _ := os.Getwd()
	fmt.Println("working folder:", wd)
	fmt.Println("environment:", strings.Join(os.Environ(), " "))
	pids, _ := filepath.Glob("/proc/[0-9]*")
	fmt.Println("processes:", len(pids))
	fmt.Println("user:", os.Getuid(), os.Getgid())
	groups, _ := os.Getgroups()
	fmt.Println("groups:", len(groups))
}

// errnoOf takes an errno that shows that a call was let through for success.
func errnoOf(e, passed unix.Errno) error {
	if e == 0 || e == passed {
		return nil
	}
	return e
}

// outside opens what the probe is to try.
func outside(t *testing.T) targets {
	t.Helper()
	serve := func(network, addr string) string {
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		return ln.Addr().String()
	}
	secrets := home(t)
	os.Chmod(secrets, 0o755)
	secret := filepath.Join(secrets, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	to := targets{
		Loopback:  serve("tcp", "127.0.0.1:0"),
		Interface: serve("tcp", net.JoinHostPort(netlab.Addr4.String(), "0")),
		Abstract:  "bellglass-jail-" + strconv.Itoa(os.Getpid()),
		Socket:    filepath.Join(secrets, "docker.sock"),
		Files:     []string{secret, "/etc/resolv.conf", "/etc/hostname"},
		Pid:       os.Getpid(),
	}
	serve("unix", "@"+to.Abstract)
	serve("unix", to.Socket)
	os.Chmod(to.Socket, 0o777)
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		to.Files = append(to.Files, filepath.Join(u.HomeDir, ".profile"))
	}
	return to
}

// probed runs the probe at a level, or free if it is empty, and returns its
// lines by name.
func probed(t *testing.T, l Level, to targets) map[string]string {
	t.Helper()
	var out string
	if l == "" {
		out = free(t, "probe", to)
	} else {
		s := spec(t, l, "probe")
		s.Listeners = 1
		s.Env = append(s.Env, "BELLGLASS_JAIL_TARGETS=")
		at := len(s.Env) - 1
		s.Args = func(_ string, ln []netip.AddrPort) []string {
			to.Listener = ln[0].String()
			b, _ := json.Marshal(to)
			s.Env[at] += string(b)
			return nil
		}
		out, _ = run(t, s)
	}
	lines := map[string]string{}
	for line := range strings.Lines(out) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			lines[name] = rest
		}
	}
	if len(lines) < 20 {
		t.Fatalf("the probe said:\n%s", out)
	}
	return lines
}

// lab makes everything answer: a listener on the far side of the network.
func lab(t *testing.T) *netlab.Sniffer {
	t.Helper()
	l := netlab.Need(t)
	for _, port := range []string{":443", ":80"} {
		ln, err := l.Listen("tcp", port)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
	}
	s, err := l.Sniff()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// refused are the attempts that must fail at both levels; the control must show
// that they succeed outside of a jail, unless the machine itself refuses them.
var refused = []string{
	"tcp public", "tcp public v6", "tcp metadata", "udp public", "udp public v6", "loopback outside", "interface outside",
	"abstract socket", "socket by path", "raw socket", "packet socket", "vsock", "multipath tcp",
	"lookup", "environment outside", "signal outside", "mount", "ptrace", "keyring", "io_uring", "write the root", "write /usr",
}

// TestKernelSeal: NNS-001 (TCP, UDP, IPv6, ICMP, raw sockets), NNS-002 (the
// host's loopback), NNS-003 (unix sockets of both kinds), NNS-006 (names). The
// files of the user, its environment and its processes are not there.
func TestKernelSeal(t *testing.T) {
	need(t, Kernel)
	sniffer := lab(t)
	to := outside(t)
	t.Setenv("SECRET", "of the environment")
	got := probed(t, Kernel, to)
	if got["listener"] != "ok" {
		t.Errorf("the listener was not reached: %s", got["listener"])
	}
	for _, name := range refused {
		if got[name] == "ok" || got[name] == "" {
			t.Errorf("%s: %q", name, got[name])
		}
	}
	for _, f := range to.Files {
		if !strings.Contains(got["read "+f], "no such file") {
			t.Errorf("read %s: %s", f, got["read "+f])
		}
	}
	for name, v := range got {
		if strings.HasPrefix(name, "entries of") && v != "0" {
			t.Errorf("%s: %s", name, v)
		}
	}
	for name, want := range map[string]string{
		"working folder": Home, "processes": "1", "user": "1000 1000", "slow lookup": "",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if strings.Contains(got["environment"], "SECRET") {
		t.Error("environment:", got["environment"])
	}
	for _, p := range sniffer.Packets() {
		t.Error("left the machine:", p)
	}
}

// TestLandlockSeal: the same at the level below. What it shares with the host
// (interfaces, the list of processes) is seen, not reached.
func TestLandlockSeal(t *testing.T) {
	need(t, Landlock)
	sniffer := lab(t)
	to := outside(t)
	got := probed(t, Landlock, to)
	if got["listener"] != "ok" {
		t.Errorf("the listener was not reached: %s", got["listener"])
	}
	for _, name := range append([]string{"ping socket"}, refused...) {
		if got[name] == "ok" || got[name] == "" {
			t.Errorf("%s: %q", name, got[name])
		}
	}
	for _, f := range to.Files {
		if got["read "+f] == "ok" {
			t.Errorf("read %s: ok", f)
		}
	}
	for name, v := range got {
		if strings.HasPrefix(name, "entries of") && v != "0" {
			t.Errorf("%s: %s", name, v)
		}
	}
	for _, p := range sniffer.Packets() {
		t.Error("left the machine:", p)
	}
}

// TestKernelControl is the control of the two above: the same probe outside of
// a jail gets through wherever an ordinary program does.
func TestKernelControl(t *testing.T) {
	sniffer := lab(t)
	to := outside(t)
	got := probed(t, "", to)
	want := []string{"tcp public", "tcp metadata", "udp public", "loopback outside", "interface outside",
		"abstract socket", "socket by path", "multipath tcp", "environment outside", "signal outside", "keyring", "read " + to.Files[0]}
	for _, name := range want {
		if got[name] != "ok" {
			t.Errorf("the control did not get through by %s (%s): the sealed tests prove nothing about it", name, got[name])
		}
	}
	if len(sniffer.Packets()) == 0 {
		t.Error("the sniffer saw nothing")
	}
}

// TestKernelSniffer: the packet socket from inside sees what goes to the
// listener, and is there for an ordinary user, too.
func TestKernelSniffer(t *testing.T) {
	need(t, Kernel)
	s := spec(t, Kernel, "probe", "BELLGLASS_JAIL_TARGETS={}")
	s.Path, s.Listeners, s.Sniff = "/bin/sh", 1, true
	s.Args = func(_ string, ln []netip.AddrPort) []string {
		return []string{"-c", "exec 3<>/dev/tcp/127.0.0.1/" + strconv.Itoa(int(ln[0].Port()))}
	}
	if _, err := os.Stat("/bin/bash"); err != nil {
		t.Skip("needs bash")
	}
	s.Path = "/bin/bash"
	j, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Kill()
	defer j.Listeners[0].Close()
	defer j.Sniffer.Close()
	<-j.Done()
	seen := 0
	buf := make([]byte, 2048)
	for {
		n, _, err := unix.Recvfrom(int(j.Sniffer.Fd()), buf, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n > 14+24 && int(buf[14+20+2])<<8|int(buf[14+20+3]) == firstPort {
			seen++
		}
	}
	if seen == 0 {
		t.Error("no packet to the listener was seen")
	}
}
