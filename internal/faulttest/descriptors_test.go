//go:build linux

package faulttest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bellglass/bellglass/internal/chrome"
)

// descriptors returns how many are open, and the highest.
func descriptors(t *testing.T) (n, highest int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			n, highest = n+1, max(highest, fd)
		}
	}
	return n, highest
}

// filled opens files until no number below the highest is free, so that a limit
// on numbers is one on how many.
func filled(t *testing.T) (n, highest int) {
	t.Helper()
	for {
		n, highest = descriptors(t) // with the folder's own, at the lowest free number
		if n == highest+1 {
			return n, highest
		}
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
}

// TestEachDescriptorMayBeTheLast starts a browser with room for no descriptor,
// for one, for two, and so on: each start but the last fails at another place,
// with an error, and leaves nothing behind.
func TestEachDescriptorMayBeTheLast(t *testing.T) {
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []chrome.Level{chrome.ProxyOnly, chrome.Landlock, chrome.Kernel} {
		t.Run(string(level), func(t *testing.T) {
			if err := chrome.TrySeal(t.Context(), level); err != nil {
				t.Skip(err)
			}
			before, highest := filled(t)
			failed := 0
			for room := 0; ; room++ {
				restore := limited(t, unix.RLIMIT_NOFILE, uint64(highest+1+room))
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				p, err := chrome.Start(ctx, chrome.Options{Binary: bin, Seals: []chrome.Level{level}, Listeners: 2})
				cancel()
				restore()
				if err == nil {
					if err := p.Close(); err != nil {
						t.Error(err)
					}
					break
				}
				if failed++; failed > 200 {
					t.Fatalf("with 200 descriptors more than %d (highest %d) there is still none: %v", before, highest, err)
				}
			}
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				after, _ := descriptors(t)
				if after <= before {
					break
				}
				if time.Now().After(end) {
					t.Errorf("%d descriptors, %d before", after, before)
					break
				}
			}
			if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "bellglass-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if failed == 0 {
				t.Error("no start failed")
			}
			t.Logf("%d starts failed", failed)
		})
	}
}
