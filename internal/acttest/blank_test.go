package acttest

import (
	"testing"

	"github.com/bellglass/bellglass"
)

// TestNothingOpenedYet: looking before the first page is no crash.
func TestNothingOpenedYet(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"state", "read", "extract", "screenshot"} {
		a := open(t, bellglass.SessionOptions{ArtefactDir: t.TempDir()})
		want := ""
		if call == "screenshot" {
			want = "invalid_argument"
		}
		if r := a.call(call, nil); r.str("reason") != want {
			t.Errorf("%s: %s", call, r.Text)
		}
	}
}
