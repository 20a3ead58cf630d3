// Package doctor looks at an installation, step by step as a read takes them:
// a browser is found, has the right version, starts, is sandboxed, the proxy
// listens, and the demo page can be read through it. Each check that fails
// names its fix.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/demo"
)

// Level says how a check ended.
type Level string

const (
	OK   Level = "ok"
	Warn Level = "warn" // works, but less well sealed
	Fail Level = "fail"
)

// Check is one finding.
type Check struct {
	Name   string `json:"name"`
	Level  Level  `json:"level"`
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"`
}

// Run makes the checks in order and reports each to found as it is made; what
// depends on a failed one is left out. It returns whether none failed.
func Run(ctx context.Context, getenv func(string) string, found func(Check)) bool {
	d := &doctor{ctx: ctx, getenv: getenv, found: found, ok: true}
	if bin, ok := d.browser(); ok && d.version(bin) {
		d.sandbox()
		d.profiles()
		d.read()
	}
	return d.ok
}

type doctor struct {
	ctx    context.Context
	getenv func(string) string
	found  func(Check)
	ok     bool
}

func (d *doctor) report(c Check) bool {
	d.found(c)
	if c.Level == Fail {
		d.ok = false
	}
	return c.Level != Fail
}

func (d *doctor) browser() (chrome.Binary, bool) {
	full := chrome.Headful(d.getenv)
	bin, err := chrome.Find(chrome.FindOptions{Getenv: d.getenv, Full: full})
	if err != nil {
		fix := "point BELLGLASS_BROWSER_BIN at an executable Chromium, or unset it" // FORGE_BROWSER_BIN, as the error says
		if missing := (*chrome.NotFoundError)(nil); errors.As(err, &missing) {
			fix = chrome.InstallHint()
		}
		return bin, d.report(Check{"browser", Fail, err.Error(), fix})
	}
	if full && !chrome.Display(d.getenv) {
		return bin, d.report(Check{"browser", Fail, "a window is asked for, but there is no display", "unset BELLGLASS_BROWSER_HEADLESS, or set DISPLAY"})
	}
	c := Check{Name: "browser", Level: OK, Detail: fmt.Sprintf("%s (%s)", bin.Path, bin.Source)}
	if !bin.Shell {
		c.Level = Warn
		c.Detail += "; a full browser is three times slower than headless shell and talks to its maker"
		c.Fix = "install headless shell, on Debian: sudo apt-get install -y chromium-headless-shell"
	}
	return bin, d.report(c)
}

func (d *doctor) version(bin chrome.Binary) bool {
	v, err := bin.Version(d.ctx)
	if err != nil {
		return d.report(Check{"version", Fail, err.Error(), chrome.InstallHint()})
	}
	return d.report(Check{Name: "version", Level: OK, Detail: fmt.Sprintf("%s (%d or later is needed)", v, chrome.MinMajor)})
}

func (d *doctor) sandbox() {
	why := chrome.SandboxOff()
	if why != "" && !chrome.Headful(d.getenv) && chrome.TrySeal(d.ctx, chrome.Kernel) == nil {
		why = "" // in the jail the browser is an ordinary user of its own namespace
	}
	if why == "" {
		d.report(Check{Name: "sandbox", Level: OK, Detail: "Chromium's own sandbox is on"})
		return
	}
	fix := "run bellglass as an ordinary user"
	if os.Geteuid() != 0 {
		fix = "allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, kernel.unprivileged_userns_clone=1 on older Debian; in a container, a seccomp profile that allows them"
	}
	d.report(Check{"sandbox", Warn, "Chromium's own sandbox is off: " + why, fix})
}

// seal says how well the browser is held to the proxy, and the fix for each
// better level that cannot be had.
func (d *doctor) seal(b *bellglass.Browser) {
	level, why, err := b.Seal(d.ctx)
	if err != nil {
		d.report(Check{"seal", Fail, err.Error(), fixes(why)})
		return
	}
	c := Check{Name: "seal", Level: OK, Detail: string(level)}
	if level != bellglass.SealKernel {
		c.Level, c.Fix = Warn, fixes(why)
		for _, w := range why {
			if refused := (*chrome.SealError)(nil); errors.As(w, &refused) {
				c.Detail += "; " + refused.Why()
			} else {
				c.Detail += "; " + w.Error()
			}
		}
	}
	d.report(c)
}

// capacity says how much can be done at one time, and why.
func (d *doctor) capacity(b *bellglass.Browser) {
	c := b.Capacity()
	k := Check{Name: "capacity", Level: OK, Detail: fmt.Sprintf("%d pages at one time, %d browsers: %s", c.Pages, c.Browsers, c.Why)}
	if c.Pages < 2 {
		k.Level, k.Fix = Warn, "give the machine or its control group more memory: one page at a time is all that has room"
	}
	d.report(k)
}

// fixes joins what to do about seals that cannot be had.
func fixes(why []error) string {
	var all []string
	for _, w := range why {
		if refused := (*chrome.SealError)(nil); errors.As(w, &refused) && refused.Fix != "" {
			all = append(all, string(refused.Level)+": "+refused.Fix)
		}
	}
	return strings.Join(all, "; ")
}

func (d *doctor) profiles() {
	n, err := chrome.Sweep("")
	if err != nil {
		d.report(Check{"profiles", Warn, err.Error(), "remove the folders named bellglass-profile-* in " + os.TempDir()})
		return
	}
	d.report(Check{Name: "profiles", Level: OK, Detail: fmt.Sprintf("%d stale ones removed from %s", n, os.TempDir())})
}

// read reads the demo page, which also proves that the proxy works: there is
// no other way to the page.
func (d *doctor) read() {
	site, err := demo.Start()
	if err != nil {
		d.report(Check{"proxy", Fail, err.Error(), "something keeps programs from listening on 127.0.0.1"})
		return
	}
	defer site.Close()
	b, err := bellglass.New(bellglass.Options{
		Getenv: d.getenv, UnsafeAllow: []string{site.Addr()},
		Seal: bellglass.SealLevel(d.getenv("BELLGLASS_SEAL")), RequireSeal: bellglass.SealLevel(d.getenv("BELLGLASS_REQUIRE_SEAL")),
	})
	if err != nil {
		d.report(Check{"proxy", Fail, err.Error(), "something keeps programs from listening on 127.0.0.1"})
		return
	}
	defer b.Close()
	d.report(Check{Name: "proxy", Level: OK, Detail: "listens on loopback; it is the browser's only way out"})
	d.seal(b)
	d.capacity(b)
	start := time.Now()
	res, err := b.Browse(d.ctx, bellglass.Request{Principal: bellglass.Principal{Tenant: "local", Run: "doctor"}, URL: site.URL()})
	switch {
	case err != nil:
		d.report(Check{"read", Fail, err.Error(), ""})
	case res.Status != bellglass.StatusOK:
		c := Check{"read", Fail, string(res.Reason) + ": " + res.Hint, ""}
		if res.Err != nil {
			c.Detail = res.Err.Error()
		}
		if strings.Contains(c.Detail, "shared librar") {
			c.Fix = "a library that the browser needs is missing; install the browser with the system's package manager"
		}
		d.report(c)
	case !strings.Contains(res.Text, "Tide table") || site.Connections()+site.Packets() > 0:
		d.report(Check{"read", Fail, "the demo page was not read as it should be, or its canaries heard of it", "please report this with the output of: bellglass demo"})
	default:
		d.report(Check{Name: "read", Level: OK, Detail: fmt.Sprintf("the demo page was read in %d ms, its escape attempts came to nothing", time.Since(start).Milliseconds())})
	}
}
