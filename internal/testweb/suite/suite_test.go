package suite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bellglass/bellglass/internal/testweb"
)

type tests func() int

func (f tests) Run() int { return f() }

// TestWhatTestsLeaveBehindFails: so does what cannot be set up or taken down.
func TestWhatTestsLeaveBehindFails(t *testing.T) {
	old := os.Getenv("TMPDIR")
	t.Cleanup(func() { os.Setenv("TMPDIR", old) })
	nothing := func(*testweb.Web) (func() error, error) { return nil, nil }
	for name, k := range map[string]struct {
		tests tests
		setUp func(*testweb.Web) (func() error, error)
		fails bool
	}{
		"clean":        {func() int { return 0 }, nothing, false},
		"failing":      {func() int { return 1 }, nothing, true},
		"left a file":  {func() int { os.WriteFile(filepath.Join(os.TempDir(), "x"), nil, 0o600); return 0 }, nothing, true},
		"no set-up":    {func() int { return 0 }, func(*testweb.Web) (func() error, error) { return nil, errors.New("no") }, true},
		"no tear-down": {func() int { return 0 }, func(*testweb.Web) (func() error, error) { return func() error { return errors.New("no") }, nil }, true},
	} {
		os.Setenv("TMPDIR", t.TempDir())
		if code := (suite{k.tests, Options{SetUp: k.setUp}}).Run(); (code != 0) != k.fails {
			t.Errorf("%s: exit code %d", name, code)
		}
	}
}
