package egressd

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// TestMain runs the tests in a network of their own and fails when one leaves
// goroutines behind.
func TestMain(m *testing.M) { os.Exit(netlab.Main(lab{m})) }

type lab struct{ m *testing.M }

func (l lab) Run() int {
	code := l.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}
