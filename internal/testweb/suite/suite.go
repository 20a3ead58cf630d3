// Package suite runs the tests of a package in the lab of package netlab, on
// one small internet, with a folder for temporary files of their own that must
// be empty at the end: browsers leave nothing behind.
package suite

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// Options of one package's tests.
type Options struct {
	Web testweb.Options
	// SetUp makes what the tests share. TearDown, which may be nil, undoes it
	// after the tests and before the internet ends.
	SetUp func(*testweb.Web) (tearDown func() error, err error)
}

// Main runs the tests of m (a *testing.M) and returns the exit code.
func Main(m interface{ Run() int }, o Options) int { return netlab.Main(suite{m, o}) }

type suite struct {
	m interface{ Run() int }
	o Options
}

// Run is called in the lab.
func (s suite) Run() int {
	flag.Parse() // SetUp may ask whether tests are verbose
	code, err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

func (s suite) run() (code int, err error) {
	tmp, err := os.MkdirTemp("", "bellglass-test-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o711); err != nil { // of root's, browsers at level landlock use it as another user
		return 1, err
	}
	os.Setenv("TMPDIR", tmp)
	web, err := testweb.Start(s.o.Web)
	if err != nil {
		return 1, err
	}
	tearDown, err := s.o.SetUp(web)
	if err != nil {
		web.Close()
		return 1, err
	}
	code = s.m.Run()
	if tearDown != nil {
		if err := tearDown(); err != nil {
			return code, fmt.Errorf("close: %w", err)
		}
	}
	web.Close()
	if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
		return code, fmt.Errorf("left behind: %q", left)
	}
	return code, nil
}

// Times of the tests' browsers, and of their callers. They are long: what tests
// ask is not how fast this machine is, which may be busy and slowed by the race
// detector. A test that waits for the end of one sets its own.
const (
	callTime       = 60 * time.Second
	navigationTime = 40 * time.Second
	Patience       = 90 * time.Second
)

// Pages is how many pages a browser of the tests reads at once.
const Pages = 4

// BrowserOptions are those of a browser on the small internet, whose authority
// it trusts. BELLGLASS_SEAL chooses the level, to compare them.
func BrowserOptions(web *testweb.Web) bellglass.Options {
	o := bellglass.Options{
		MaxPages: Pages, MaxBrowsers: Pages,
		Seal:    bellglass.SealLevel(os.Getenv("BELLGLASS_SEAL")),
		Resolve: web.Resolve, UnsafeDial: web.Dial,
		CallTimeout: callTime, NavigationTimeout: navigationTime,
		UnsafeBrowserFlags: []string{"--ignore-certificate-errors-spki-list=" + web.SPKIHash()},
	}
	if testing.Verbose() {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return o
}
