//go:build linux

package sealprobe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/bellglass/bellglass/internal/chrome"
)

// This binary also plays the program with the native probes, and one that runs
// these alone, in a lab, and prints the report.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == NativeCommand:
		os.Exit(Native(os.Args[2:], os.Stdin, os.Stdout))
	case len(os.Args) > 2 && os.Args[1] == runCommand:
		os.Exit(runNatives(os.Args[2]))
	}
	os.Exit(m.Run())
}

const runCommand = "run-natives"

// noLab is the exit code where no lab can be made.
const noLab = 77

func runNatives(seal string) int {
	lab, code, done, err := Enter(chrome.Binary{Path: "/bin/true"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return noLab
	}
	if done {
		return code
	}
	r, err := Run(context.Background(), lab, Options{Seal: seal, NativesOnly: true})
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// probeNatives runs the native probes at a level of the seal.
func probeNatives(t *testing.T, seal string) *Report {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", runCommand, seal)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code == noLab {
		if os.Getenv("CI") == "true" {
			t.Fatalf("this test must not be skipped under CI: %s", said.String())
		}
		t.Skip(said.String())
	}
	var r Report
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	return &r
}

// TestProgramsThatObeyNothing: at each level of the seal, what such a program
// can still do. A control that did not get out proves nothing.
func TestProgramsThatObeyNothing(t *testing.T) {
	for _, k := range []struct {
		seal string
		held bool
	}{{"kernel", true}, {"landlock", true}, {"proxy-only", false}} {
		t.Run(k.seal, func(t *testing.T) {
			if err := chrome.TrySeal(t.Context(), chrome.Level(k.seal)); k.seal == "landlock" && err != nil {
				t.Skip(err) // a kernel without it
			}
			r := probeNatives(t, k.seal)
			if len(r.Trouble) > 0 || r.Seal != k.seal {
				t.Errorf("seal %s, trouble %v", r.Seal, r.Trouble)
			}
			for _, x := range r.Results {
				if x.From != "native" || x.Verdict == NotObservable && slices.Contains(maybe, x.ID) {
					continue
				}
				want := Held
				if k.seal == "landlock" && x.ID == "native/proxy-port public4" {
					want = Leak // its rules know ports, and no addresses
				}
				if !k.held && !slices.Contains(heldAnyway(), x.ID) {
					want = Leak
				}
				if x.Verdict != want {
					t.Errorf("%s: %s, want %s; sealed %v, control %v", x.ID, x.Verdict, want, x.Sealed, x.Control)
				}
			}
		})
	}
}

// maybe are probes that not every kernel can show.
var maybe = []string{"native/vsock", "native/mqueue", "native/keyring", "native/mptcp loopback4", "native/mptcp metadata4"}

// heldAnyway is what holds without a jail: a browser's environment is fixed,
// and an ordinary user sends no packets by hand.
func heldAnyway() []string {
	ids := []string{"native/environ own"}
	if os.Getuid() != 0 {
		for _, p := range nativeProbes() {
			if p.how == "icmp" || p.how == "raw-ip" || p.how == "frame" {
				ids = append(ids, p.id())
			}
		}
	}
	return ids
}

// TestNativeSaysWhatFailed: errors of the program become the words of a report.
func TestNativeSaysWhatFailed(t *testing.T) {
	var out strings.Builder
	plan := `[{"n":1,"how":"read","arg":"/nowhere/at/all"},{"n":2,"how":"unheard"},{"n":3,"how":"tcp","addr":"127.0.0.1:1"}]`
	if code := Native([]string{plan}, strings.NewReader(""), &out); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{`{"n":1,"err":"no such file or directory"}`, `{"n":2,"err":"unknown probe"}`, `{"n":3,"err":"connection refused"}`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in %s", want, out.String())
		}
	}
	for _, args := range [][]string{nil, {"not json"}, {"a", "b"}} {
		if code := Native(args, strings.NewReader(""), &out); code != 2 {
			t.Errorf("%s: exit code %d", fmt.Sprint(args), code)
		}
	}
}
