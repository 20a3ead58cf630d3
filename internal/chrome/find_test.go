package chrome

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeBin makes an executable file and returns its path.
func fakeBin(t *testing.T, path, content string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func env(pairs ...string) func(string) string {
	return func(k string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == k {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// withoutKnownPaths hides the browsers that this machine has.
func withoutKnownPaths(t *testing.T) {
	old := names
	t.Cleanup(func() { names = old })
	names = append(names[:0:0], names...)
	for i := range names {
		names[i].real = nil
	}
}

func TestFindOrder(t *testing.T) {
	withoutKnownPaths(t)
	dir, home := t.TempDir(), t.TempDir()
	e := env("PATH", dir, "HOME", home)
	steps := []struct {
		path   string // made in this step
		shell  bool
		source string
	}{ // each better than the one before
		{filepath.Join(home, ".cache/puppeteer/chrome/linux-150.0.1.2/chrome-linux64/chrome"), false, "Puppeteer cache"},
		{filepath.Join(home, ".cache/ms-playwright/chromium-1190/chrome-linux/chrome"), false, "Playwright cache"},
		{filepath.Join(home, ".cache/ms-playwright/chromium-1200/chrome-linux64/chrome"), false, "Playwright cache"},
		{filepath.Join(dir, "microsoft-edge"), false, "PATH"},
		{filepath.Join(dir, "google-chrome"), false, "PATH"},
		{filepath.Join(dir, "chromium"), false, "PATH"},
		{filepath.Join(home, ".cache/puppeteer/chrome-headless-shell/linux-150.0.1.2/chrome-headless-shell-linux64/chrome-headless-shell"), true, "Puppeteer cache"},
		{filepath.Join(home, ".cache/ms-playwright/chromium_headless_shell-1200/chrome-linux/headless_shell"), true, "Playwright cache"},
		{filepath.Join(dir, "headless-shell"), true, "PATH"},
		{filepath.Join(dir, "chrome-headless-shell"), true, "PATH"},
		{filepath.Join(dir, "chromium-headless-shell"), true, "PATH"},
	}
	if b, err := Find(FindOptions{Getenv: e}); err == nil {
		t.Fatalf("found %v on an empty machine", b)
	}
	for _, s := range steps {
		fakeBin(t, s.path, "\x7fELF", 0o755)
		want := Binary{Path: s.path, Shell: s.shell, Source: s.source}
		if got, err := Find(FindOptions{Getenv: e}); err != nil || got != want {
			t.Errorf("got %+v, %v\nwant %+v", got, err, want)
		}
	}
	if got, err := Find(FindOptions{Getenv: e, Full: true}); err != nil || got.Shell {
		t.Errorf("a full browser was asked for: got %+v, %v", got, err)
	}
}

func TestFindByVariable(t *testing.T) {
	dir := t.TempDir()
	good := fakeBin(t, filepath.Join(dir, "my-browser"), "\x7fELF", 0o755)
	plain := fakeBin(t, filepath.Join(dir, "plain"), "\x7fELF", 0o644)
	shell := fakeBin(t, filepath.Join(dir, "chrome-headless-shell"), "\x7fELF", 0o755)
	for _, k := range []struct {
		name string
		env  []string
		full bool
		want string // path, or part of the error
	}{
		{"first variable", []string{"BELLGLASS_BROWSER_BIN", good, "FORGE_BROWSER_BIN", plain}, false, good},
		{"second variable", []string{"FORGE_BROWSER_BIN", good}, false, good},
		{"bare name", []string{"BELLGLASS_BROWSER_BIN", "my-browser", "PATH", dir}, false, good},
		{"missing file", []string{"BELLGLASS_BROWSER_BIN", dir + "/no"}, false, "no such file"},
		{"folder", []string{"BELLGLASS_BROWSER_BIN", dir}, false, "not a regular file"},
		{"not executable", []string{"BELLGLASS_BROWSER_BIN", plain}, false, "not executable"},
		{"relative path", []string{"BELLGLASS_BROWSER_BIN", "./my-browser"}, false, "not an absolute path"},
		{"shell where a window is wanted", []string{"BELLGLASS_BROWSER_BIN", shell}, true, "cannot show a window"},
	} {
		t.Run(k.name, func(t *testing.T) {
			b, err := Find(FindOptions{Getenv: env(k.env...), Full: k.full})
			if err == nil && b.Path != k.want || err != nil && !strings.Contains(err.Error(), k.want) {
				t.Errorf("got %+v, %v, want %q", b, err, k.want)
			}
		})
	}
}

func TestNotFoundSaysWhatToDo(t *testing.T) {
	withoutKnownPaths(t)
	_, err := Find(FindOptions{Getenv: env()})
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"chromium-headless-shell", "install", "BELLGLASS_BROWSER_BIN"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

func TestRelativePathEntriesAreIgnored(t *testing.T) {
	withoutKnownPaths(t)
	dir := t.TempDir()
	fakeBin(t, filepath.Join(dir, "chromium"), "\x7fELF", 0o755)
	t.Chdir(dir)
	if b, err := Find(FindOptions{Getenv: env("PATH", ".:")}); err == nil {
		t.Errorf("found %v in the working folder", b)
	}
}

func TestVersionIsChecked(t *testing.T) {
	for _, k := range []struct {
		v  string
		ok bool
	}{
		{"HeadlessChrome/156.0.8078.73", true},
		{"150.0.0.1", true},
		{"Chrome/149.9.9.9", false},
		{"99.0.1.2", false},
		{"Firefox", false},
		{"", false},
	} {
		if err := checkVersion(k.v); (err == nil) != k.ok {
			t.Errorf("checkVersion(%q) = %v", k.v, err)
		}
	}
	old := Binary{Path: fakeBin(t, filepath.Join(t.TempDir(), "chromium"), "#!/bin/sh\necho Chromium 101.0.4951.64\n", 0o755)}
	if _, err := old.Version(t.Context()); err == nil || !strings.Contains(err.Error(), "too old") {
		t.Errorf("an old browser: %v", err)
	}
	stub := Binary{Path: fakeBin(t, filepath.Join(t.TempDir(), "chromium-browser"), "#!/bin/sh\necho 'install the snap'; exit 1\n", 0o755)}
	if _, err := stub.Version(t.Context()); err == nil || !strings.Contains(err.Error(), "install the snap") {
		t.Errorf("a stub that only prints: %v", err)
	}
}

// TestEnvironmentIsOurs: CRD-007.
func TestEnvironmentIsOurs(t *testing.T) {
	for _, k := range []string{"AWS_SECRET_ACCESS_KEY", "HTTP_PROXY", "SSH_AUTH_SOCK", "DISPLAY", "HOME", "LD_PRELOAD"} {
		t.Setenv(k, "leaked-"+k)
	}
	if s := strings.Join(environment("/p", false), "\n"); strings.Contains(s, "leaked") {
		t.Errorf("the caller's environment leaks:\n%s", s)
	}
	if s := strings.Join(environment("/p", true), "\n"); strings.Count(s, "leaked") != 1 || !strings.Contains(s, "DISPLAY=") {
		t.Errorf("a window needs DISPLAY and no more:\n%s", s)
	}
}

func TestHeadful(t *testing.T) {
	for _, k := range []struct {
		env  []string
		want bool
	}{
		{nil, false},
		{[]string{"BELLGLASS_BROWSER_HEADLESS", "false"}, true},
		{[]string{"BELLGLASS_BROWSER_HEADLESS", "0"}, true},
		{[]string{"BELLGLASS_BROWSER_HEADLESS", "FALSE"}, true},
		{[]string{"BELLGLASS_BROWSER_HEADLESS", "true"}, false},
		{[]string{"BELLGLASS_BROWSER_HEADLESS", "1"}, false},
		{[]string{"FORGE_BROWSER_HEADLESS", "false"}, true},
		{[]string{"BELLGLASS_BROWSER_HEADLESS", "true", "FORGE_BROWSER_HEADLESS", "false"}, false},
	} {
		if got := Headful(env(k.env...)); got != k.want {
			t.Errorf("%v: got %v", k.env, got)
		}
	}
}

// TestFlagsSeal: TLS-007, and TEN-002 for the process; what the switches
// achieve is tested with a sniffer.
func TestFlagsSeal(t *testing.T) {
	for _, shell := range []bool{true, false} {
		all := strings.Join(flags(Options{Binary: Binary{Path: "/x", Shell: shell}, Proxy: "127.0.0.1:9"}, "/p", false, false), "\n")
		for _, want := range []string{"--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>", "--site-per-process", "--remote-debugging-pipe", "--disable-quic", "--user-data-dir=/p",
			// Chromium obeys one of these and headless shell the other.
			"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp"} {
			if !strings.Contains(all, want) {
				t.Errorf("shell %v: no %s", shell, want)
			}
		}
		for _, never := range []string{"ignore-certificate-errors", "allow-insecure-localhost", "remote-debugging-port", "no-sandbox", "disable-web-security", "direct://", "disable-popup-blocking"} {
			if strings.Contains(all, never) {
				t.Errorf("shell %v: %s", shell, never)
			}
		}
		if strings.Count(all, "--disable-features=") != 1 {
			t.Errorf("shell %v: Chromium obeys only the last of several --disable-features", shell)
		}
	}
}
