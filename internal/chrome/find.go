package chrome

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Binary is a Chromium-family browser on this machine.
type Binary struct {
	Path string
	// Shell tells that this is headless shell: no user interface, no
	// background traffic, a third of the cost of a full browser.
	Shell bool
	// Source says how it was found: a variable's name, "PATH", "known path",
	// "Playwright cache" or "Puppeteer cache".
	Source string
}

// NotFoundError tells that no usable browser was found, and what was tried.
type NotFoundError struct {
	Tried []string // names and places, in order
	Full  bool     // a full browser was asked for (headful)
}

func (e *NotFoundError) Error() string {
	what := "no Chromium found"
	if e.Full {
		what = "no full Chromium found (headless shell cannot show a window)"
	}
	return fmt.Sprintf("chrome: %s (tried %s); %s, or set BELLGLASS_BROWSER_BIN to the path of one", what, strings.Join(e.Tried, ", "), InstallHint())
}

// InstallHint says in one clause how to install a browser on this system.
func InstallHint() string {
	switch runtime.GOOS {
	case "darwin":
		return "install one with: brew install --cask chromium"
	case "linux":
		switch {
		case exists("/etc/debian_version"):
			return "install one with: sudo apt-get install -y chromium-headless-shell"
		case exists("/etc/fedora-release"):
			return "install one with: sudo dnf install chromium-headless"
		case exists("/etc/alpine-release"):
			return "install one with: apk add chromium"
		case exists("/etc/arch-release"):
			return "install one with: pacman -S chromium"
		}
	}
	return "install the package chromium-headless-shell or chromium"
}

// Executable names looked up in PATH, best first, and where distributions keep
// the real binary behind a wrapper script of that name. The wrapper of Debian
// does not exec, so that killing it would leave the browser running.
var names = []struct {
	name  string
	shell bool
	real  []string
}{
	{"chromium-headless-shell", true, []string{"/usr/lib/chromium/chromium-headless-shell"}},
	{"chrome-headless-shell", true, nil},
	{"headless-shell", true, nil},
	{"headless_shell", true, []string{"/usr/lib64/chromium-browser/headless_shell"}},
	{"chromium", false, []string{"/usr/lib/chromium/chromium"}},
	{"chromium-browser", false, []string{"/usr/lib64/chromium-browser/chromium-browser"}},
	{"google-chrome", false, []string{"/opt/google/chrome/chrome"}},
	{"google-chrome-stable", false, []string{"/opt/google/chrome/chrome"}},
	{"chrome", false, nil},
	{"microsoft-edge", false, []string{"/opt/microsoft/msedge/msedge"}},
	{"microsoft-edge-stable", false, []string{"/opt/microsoft/msedge/msedge"}},
}

// macApps are application bundles, below /Applications and ~/Applications.
var macApps = []string{
	"Chromium.app/Contents/MacOS/Chromium",
	"Google Chrome.app/Contents/MacOS/Google Chrome",
	"Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
}

// caches are glob patterns of the browsers that test tools download, relative
// to the cache folder of the tool.
var caches = []struct {
	tool, env string
	dirs      []string // below the home folder
	shell     bool
	globs     []string
}{
	{"Playwright cache", "PLAYWRIGHT_BROWSERS_PATH", []string{".cache/ms-playwright", "Library/Caches/ms-playwright"}, true,
		[]string{"chromium_headless_shell-*/chrome-*/headless_shell", "chromium_headless_shell-*/chrome-headless-shell-*/chrome-headless-shell"}},
	{"Puppeteer cache", "PUPPETEER_CACHE_DIR", []string{".cache/puppeteer"}, true,
		[]string{"chrome-headless-shell/*/chrome-headless-shell-*/chrome-headless-shell"}},
	{"Playwright cache", "PLAYWRIGHT_BROWSERS_PATH", []string{".cache/ms-playwright", "Library/Caches/ms-playwright"}, false,
		[]string{"chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*"}},
	{"Puppeteer cache", "PUPPETEER_CACHE_DIR", []string{".cache/puppeteer"}, false,
		[]string{"chrome/*/chrome-linux*/chrome", "chrome/*/chrome-mac*/*.app/Contents/MacOS/*"}},
}

// FindOptions says where to look. The zero value finds the best headless
// browser in the process's own environment.
type FindOptions struct {
	Getenv func(string) string // if nil, os.Getenv
	Full   bool                // headless shell will not do
}

// Find returns the first usable browser: the one named by
// BELLGLASS_BROWSER_BIN or FORGE_BROWSER_BIN, which must then be usable, else
// headless shell before full browsers, PATH and known places before the caches
// of test tools. The error is a [*NotFoundError] or says what is wrong with the
// named one.
func Find(o FindOptions) (Binary, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	for _, v := range []string{"BELLGLASS_BROWSER_BIN", "FORGE_BROWSER_BIN"} {
		path := o.Getenv(v)
		if path == "" {
			continue
		}
		path = resolve(path, o.Getenv("PATH"))
		if err := usable(path); err != nil {
			return Binary{}, fmt.Errorf("chrome: %s=%q: %w; point it at an executable Chromium or unset it", v, o.Getenv(v), err)
		}
		b := Binary{Path: path, Shell: isShell(path), Source: v}
		if b.Shell && o.Full {
			return Binary{}, fmt.Errorf("chrome: %s=%q is headless shell, which cannot show a window; point it at a full Chromium", v, path)
		}
		return b, nil
	}
	missing := &NotFoundError{Full: o.Full}
	for _, shell := range []bool{true, false} {
		if shell && o.Full {
			continue
		}
		if b, ok := findInstalled(o, shell, missing); ok {
			return b, nil
		}
		if b, ok := findCached(o, shell, missing); ok {
			return b, nil
		}
	}
	return Binary{}, missing
}

func findInstalled(o FindOptions, shell bool, missing *NotFoundError) (Binary, bool) {
	for _, n := range names {
		if n.shell != shell {
			continue
		}
		missing.Tried = append(missing.Tried, n.name)
		for _, real := range n.real {
			if usable(real) == nil {
				return Binary{Path: real, Shell: shell, Source: "known path"}, true
			}
		}
		if path := lookPath(n.name, o.Getenv("PATH")); path != "" && usable(path) == nil {
			return Binary{Path: path, Shell: shell, Source: "PATH"}, true
		}
	}
	if shell || runtime.GOOS != "darwin" {
		return Binary{}, false
	}
	for _, root := range []string{"/Applications", filepath.Join(o.Getenv("HOME"), "Applications")} {
		for _, app := range macApps {
			path := filepath.Join(root, app)
			missing.Tried = append(missing.Tried, path)
			if usable(path) == nil {
				return Binary{Path: path, Source: "known path"}, true
			}
		}
	}
	return Binary{}, false
}

func findCached(o FindOptions, shell bool, missing *NotFoundError) (Binary, bool) {
	home := o.Getenv("HOME")
	for _, c := range caches {
		if c.shell != shell {
			continue
		}
		var roots []string
		if dir := o.Getenv(c.env); filepath.IsAbs(dir) {
			roots = append(roots, dir)
		} else if home != "" {
			for _, d := range c.dirs {
				roots = append(roots, filepath.Join(home, d))
			}
		}
		missing.Tried = append(missing.Tried, c.tool)
		var found []string
		for _, root := range roots {
			for _, g := range c.globs {
				m, _ := filepath.Glob(filepath.Join(root, g)) // the pattern is constant: no error
				found = append(found, m...)
			}
		}
		sort.Slice(found, func(i, j int) bool { return newer(found[i], found[j]) })
		for _, path := range found {
			if usable(path) == nil {
				return Binary{Path: path, Shell: shell, Source: c.tool}, true
			}
		}
	}
	return Binary{}, false
}

var digits = regexp.MustCompile(`\d+`)

// newer orders paths by the numbers in them, highest first.
func newer(a, b string) bool {
	x, y := digits.FindAllString(a, -1), digits.FindAllString(b, -1)
	for i := 0; i < len(x) && i < len(y); i++ {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m > n
		}
	}
	return a > b
}

func isShell(path string) bool {
	base := strings.ReplaceAll(strings.ToLower(filepath.Base(path)), "_", "-")
	return strings.Contains(base, "headless-shell")
}

// resolve turns a bare name into a path, and a wrapper script of a known name
// into the binary behind it.
func resolve(path, pathList string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		if p := lookPath(path, pathList); p != "" {
			path = p
		}
	}
	if !isScript(path) {
		return path
	}
	for _, n := range names {
		if n.name != filepath.Base(path) {
			continue
		}
		for _, real := range n.real {
			if usable(real) == nil {
				return real
			}
		}
	}
	return path
}

func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 2)
	n, _ := f.Read(head)
	return n == 2 && bytes.Equal(head, []byte("#!"))
}

func lookPath(name, pathList string) string {
	for _, dir := range filepath.SplitList(pathList) {
		if !filepath.IsAbs(dir) {
			continue // never run what the working folder holds
		}
		path := filepath.Join(dir, name)
		if usable(path) == nil {
			return path
		}
	}
	return ""
}

func usable(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("not an absolute path")
	}
	st, err := os.Stat(path)
	if err != nil {
		return errors.Unwrap(err)
	}
	if !st.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	if st.Mode().Perm()&0o111 == 0 {
		return errors.New("not executable")
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// MinMajor is the oldest Chromium accepted. Only the current stable release
// gets security fixes, and this browser meets hostile pages; what is measured
// in this project was measured on 156.
const MinMajor = 150

var versionNumber = regexp.MustCompile(`(\d+)\.\d+\.\d+\.\d+`)

// Version runs the browser with --version and returns the full version
// ("156.0.8078.73").
func (b Binary) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.Path, "--version")
	cmd.Env = environment(os.TempDir(), false)
	out, err := cmd.CombinedOutput()
	v := versionNumber.FindString(string(out))
	if err != nil || v == "" {
		return "", fmt.Errorf("chrome: %s --version: %w: %q", b.Path, errors.Join(err, errNoVersion(v)), firstLine(out))
	}
	return v, checkVersion(v)
}

func errNoVersion(v string) error {
	if v != "" {
		return nil
	}
	return errors.New("no version in its answer")
}

// checkVersion accepts "156.0.8078.73" and "HeadlessChrome/156.0.8078.73".
func checkVersion(v string) error {
	m := versionNumber.FindStringSubmatch(v)
	if m == nil {
		return fmt.Errorf("chrome: no version in %q", v)
	}
	if n, _ := strconv.Atoi(m[1]); n < MinMajor {
		return fmt.Errorf("chrome: version %s is too old: bellglass needs %d or later; %s", m[0], MinMajor, InstallHint())
	}
	return nil
}

func firstLine(b []byte) string {
	b, _, _ = bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return string(b[:min(len(b), 200)])
}
