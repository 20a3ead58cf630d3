//go:build unix

package netns_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

func TestMain(m *testing.M) {
	if os.Getenv("NETLAB_TEST_PART") == "raw" { // started beside the tests, in their lab
		os.Exit(play("raw"))
	}
	os.Exit(netlab.Main(leakChecked{m}))
}

// leakChecked fails the run when it leaves goroutines behind. When a test has
// started this binary as its subject, Run plays that part instead.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	if part := os.Getenv("NETLAB_TEST_PART"); part != "" {
		return play(part)
	}
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// play is what the innermost process does when a test started this binary: it
// says where it is, and ends in the way that its part asks for.
func play(part string) int {
	fmt.Println(os.Getpid(), os.Getuid(), netlab.Available())
	switch part {
	case "raw":
		c, err := net.Dial("ip4:icmp", "203.0.113.9")
		if err == nil {
			_, err = c.Write([]byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}) // an echo request
		}
		fmt.Println(os.Args[1:], os.Environ(), err)
		return 0
	case "exit":
		return 7
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	select {} // until a signal comes
}

// subject starts this binary anew, in a lab inside the lab, and returns its
// process and the line it said.
func subject(t *testing.T, part string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "NETLAB_TEST_PART="+part)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatalf("subject: %v\n%s", err, stderr.String())
	}
	return cmd, strings.TrimSpace(line)
}

func TestTheExitCodeIsThatOfTheTests(t *testing.T) {
	netlab.Need(t)
	for part, want := range map[string]int{"exit": 7, "killed": 128 + int(syscall.SIGKILL)} {
		cmd, line := subject(t, part)
		if !strings.HasSuffix(line, fmt.Sprint(os.Getuid(), " <nil>")) {
			t.Errorf("%s: the subject says %q, want uid %d and no reason against the lab", part, line, os.Getuid())
		}
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d", part, got, want)
		}
	}
}

// TestStartedProgramsMaySendByHand: and have the arguments and the environment
// they were given, and no more.
func TestStartedProgramsMaySendByHand(t *testing.T) {
	l := netlab.Need(t)
	s := sniff(t, l)
	f, err := l.Start([]string{"an argument"}, []string{"NETLAB_TEST_PART=raw"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.SetDeadline(time.Now().Add(20 * time.Second))
	said, err := io.ReadAll(f)
	if _, line, _ := strings.Cut(string(said), "\n"); line != "[an argument] [NETLAB_TEST_PART=raw] <nil>\n" || err != nil {
		t.Errorf("it says %q, %v", said, err)
	}
	if !sees(s, "icmp", netip.MustParseAddrPort("203.0.113.9:0"), ": 8 bytes: 0800f7ff00000000") {
		t.Errorf("no echo request among %v", s.Packets())
	}
}

func TestSignalsReachTheTests(t *testing.T) {
	netlab.Need(t)
	cmd, _ := subject(t, "wait")
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if got, want := cmd.ProcessState.ExitCode(), 128+int(syscall.SIGTERM); got != want {
		t.Errorf("exit code %d, want %d", got, want)
	}
}

func TestKillingTheLauncherKillsTheTests(t *testing.T) {
	netlab.Need(t)
	cmd, line := subject(t, "wait")
	first, _, _ := strings.Cut(line, " ")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("the subject says %q", line)
	}
	cmd.Process.Kill()
	cmd.Wait()
	for range 500 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
		time.Sleep(10 * time.Millisecond) // the kernel tells nobody who is no parent
	}
	t.Errorf("process %d lives on", pid)
}
