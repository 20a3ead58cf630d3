package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bellglass-egress": main})
}

// said collects what a process says.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) has(what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.b.String(), what)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 20 seconds: %s", what)
}

// TestRealSignals: the process itself reloads, drains and ends well.
func TestRealSignals(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := ln.Addr().String()
	ln.Close()
	path := filepath.Join(t.TempDir(), "egress.yaml")
	good := "admin: none\nroles:\n  a: {listen: '" + at + "'}\n"
	write := func(file string) {
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(good)
	cmd := exec.Command("bellglass-egress", path)
	log := new(said)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	eventually(t, "ready", func() bool { return log.has("msg=ready") })
	write(good + "x: 1\n")
	cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, "a failed reload", func() bool { return log.has(`egress.yaml:4: unknown key`) })
	write(good)
	cmd.Process.Signal(syscall.SIGHUP)
	eventually(t, "a reload", func() bool { return log.has("msg=reloaded") })
	if c, err := net.Dial("tcp", at); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &log.b)
	}
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		out  string
	}{
		{nil, 0, "SIGHUP"},
		{[]string{"--help"}, 0, "--check"},
		{[]string{"--version"}, 0, "bellglass-egress " + version},
		{[]string{"--nonsense", "x"}, 2, "--help"},
		{[]string{"--check", "/nowhere"}, 2, "no such file"},
	} {
		cmd := exec.Command("bellglass-egress", tt.args...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.out) {
			t.Errorf("%v: exit code %d, %s", tt.args, code, out)
		}
	}
}
