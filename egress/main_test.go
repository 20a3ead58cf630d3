package egress

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails when a test leaves goroutines or descriptors behind.
func TestMain(m *testing.M) {
	before := descriptors()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		if after := descriptors(); after > before+slack {
			fmt.Fprintf(os.Stderr, "descriptors: %d before the tests, %d after\n", before, after)
			code = 1
		}
	}
	os.Exit(code)
}

// slack is how many descriptors the runtime and the testing package may open
// for themselves: the poller's, and pipes that wait for their next splice.
const slack = 20

// descriptors returns the number of open files of this process, or 0 where
// that cannot be told.
func descriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}
