//go:build linux

package jail

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// sh runs a shell script in a jail and returns what it wrote.
func sh(t *testing.T, script string, change func(*Spec)) string {
	t.Helper()
	var out bytes.Buffer
	s := Spec{Level: Kernel, Path: "/bin/sh", Stdout: &out, Stderr: &out, Env: []string{"PATH=/usr/bin:/bin"},
		Args: func(string, []netip.AddrPort) []string { return []string{"-c", script} }}
	if change != nil {
		change(&s)
	}
	j, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Kill()
	select {
	case <-j.Done():
	case <-time.After(20 * time.Second):
		t.Error("the script did not end")
	}
	return out.String()
}

func TestAScriptInTheJail(t *testing.T) {
	out := sh(t, `id -u; hostname; pwd; ls /; cat /profile/a/b; touch /x /usr/x; cat /proc/self/status`, func(s *Spec) {
		s.Files = map[string][]byte{"a/b": []byte("a file of the home\n")}
	})
	for _, want := range []string{
		"1000\n", "bellglass\n", "/profile\n", "a file of the home", "touch: cannot touch '/x': Read-only file system",
		"touch: cannot touch '/usr/x': Read-only file system", "CapEff:\t0000000000000000", "NoNewPrivs:\t1",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		j, err := Start(b.Context(), Spec{Level: Kernel, Path: "/bin/true", Listeners: 12})
		if err != nil {
			b.Fatal(err)
		}
		j.Kill()
		for _, ln := range j.Listeners {
			ln.Close()
		}
	}
}
