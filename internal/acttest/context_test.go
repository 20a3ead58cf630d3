//go:build linux

package acttest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
)

// theirs is a browser of a caller's own, driven by hand.
type theirs struct {
	*testing.T
	cmd  *exec.Cmd
	r, w *os.File
	br   *bufio.Reader
	kill func() error
}

func startTheirs(t *testing.T) *theirs {
	t.Helper()
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fromUs, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r, toUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b := &theirs{T: t, r: r, w: w, br: bufio.NewReader(r)}
	b.cmd = exec.Command(bin.Path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	b.cmd.ExtraFiles = []*os.File{fromUs, toUs}
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	toUs.Close()
	b.kill = sync.OnceValue(func() error {
		syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
		b.cmd.Wait()
		return nil
	})
	t.Cleanup(func() { b.kill(); r.Close(); w.Close() })
	return b
}

// do sends a command and returns its result.
func (b *theirs) do(method string, params map[string]any) map[string]any {
	b.Helper()
	raw, _ := json.Marshal(map[string]any{"id": 1, "method": method, "params": params})
	if _, err := b.w.Write(append(raw, 0)); err != nil {
		b.Fatal(err)
	}
	for {
		raw, err := b.br.ReadBytes(0)
		if err != nil {
			b.Fatal(err)
		}
		var m struct {
			ID     int
			Result map[string]any
			Error  any
		}
		if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
			b.Fatal(err)
		}
		if m.Error != nil {
			b.Fatalf("%s: %v", method, m.Error)
		}
		if m.ID == 1 {
			return m.Result
		}
	}
}

func (b *theirs) context(params map[string]any) string {
	b.Helper()
	id, _ := b.do("Target.createBrowserContext", params)["browserContextId"].(string)
	return id
}

func (b *theirs) hand(id string) (bellglass.UnsafeBrowserContext, error) {
	return bellglass.UnsafeBrowserContext{ID: id, Read: struct {
		io.Reader
		io.Closer
	}{b.br, b.r}, Write: b.w, Kill: b.kill}, nil
}

func sealed(proxy string) map[string]any {
	return map[string]any{"proxyServer": "http://" + proxy, "proxyBypassList": "<-loopback>"}
}

// TestAContextOfTheCallersIsClaimed: one that is made as it should be works,
// under the rules of any session, and is disposed of at the end; the same one
// handed in again, for whatever run, is refused, and so is one that has been used, is
// the browser's own, does not exist, or does not send everything to its proxy.
func TestAContextOfTheCallersIsClaimed(t *testing.T) {
	t.Parallel()
	url := serve("theirs.test", `<!doctype html><title>Theirs</title><p id=p>no</p><button onclick="p.textContent='clicked'">Go</button><button onclick="location='http://denied.theirs.test/'">Away</button>`)
	serve("denied.theirs.test", "<!doctype html>denied")
	ours := bellglass.SessionOptions{Mode: "allowlist", Allow: []string{"theirs.test"}, AllowInsecureHTTP: true}
	first := startTheirs(t)
	id := ""
	ours.UnsafeContext = func(_ context.Context, want bellglass.ContextRequest) (bellglass.UnsafeBrowserContext, error) {
		if want.Principal != who {
			t.Errorf("it is for %+v", want.Principal)
		}
		id = first.context(sealed(want.Proxy))
		return first.hand(id)
	}
	a := open(t, ours)
	a.goTo(url)
	a.has(a.ok(a.click(`"Go"`)), "clicked")
	if r := a.click(`"Away"`); r.str("reason") != "host_not_allowed" {
		t.Errorf("a host that is not listed: %s", r.Text)
	}
	if hits := web.Hits("denied.theirs.test"); len(hits) > 0 {
		t.Error("it was reached")
	}
	refused := func(name string, p bellglass.Principal, make func(proxy string) (bellglass.UnsafeBrowserContext, error)) {
		t.Helper()
		o := anywhere
		o.UnsafeContext = func(_ context.Context, want bellglass.ContextRequest) (bellglass.UnsafeBrowserContext, error) {
			return make(want.Proxy)
		}
		s, err := bg.Open(t.Context(), p, o)
		if reason(err) != bellglass.ReasonSeal {
			t.Errorf("%s: %v", name, err)
		}
		if s != nil {
			s.Close()
		}
	}
	again := func(string) (bellglass.UnsafeBrowserContext, error) { return first.hand(id) }
	refused("handed in before, by the same run", who, again)
	refused("another run's", bellglass.Principal{Tenant: "other", Run: "other"}, again)
	a.has(a.ok(a.call("state", map[string]any{"full": true})), "Page: Theirs", "clicked") // it has not noticed
	if err := a.s.Close(); err != nil {
		t.Error(err)
	}
	refused("of a run that is over", who, again)

	for name, make := range map[string]func(b *theirs, proxy string) string{
		"a page in it": func(b *theirs, proxy string) string {
			id := b.context(sealed(proxy))
			b.do("Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": id})
			return id
		},
		"a cookie in it": func(b *theirs, proxy string) string {
			id := b.context(sealed(proxy))
			b.do("Storage.setCookies", map[string]any{"browserContextId": id, "cookies": []any{map[string]any{"name": "a", "value": "b", "domain": "theirs.test", "path": "/"}}})
			return id
		},
		"the browser's own": func(b *theirs, proxy string) string {
			id, _ := b.do("Target.getBrowserContexts", nil)["defaultBrowserContextId"].(string)
			if id == "" {
				id = "none"
			}
			return id
		},
		"unknown": func(b *theirs, proxy string) string {
			return "0123456789ABCDEF0123456789ABCDE" + fmt.Sprint(b.cmd.Process.Pid%10)
		},
		"loopback directly": func(b *theirs, proxy string) string {
			return b.context(map[string]any{"proxyServer": "http://" + proxy})
		},
		"another proxy": func(b *theirs, proxy string) string { return b.context(sealed("127.0.0.1:9")) },
	} {
		b := startTheirs(t)
		refused(name, who, func(proxy string) (bellglass.UnsafeBrowserContext, error) { return b.hand(make(b, proxy)) })
		b.kill()
	}
	refused("incomplete", who, func(string) (bellglass.UnsafeBrowserContext, error) {
		return bellglass.UnsafeBrowserContext{ID: "x"}, nil
	})
}

// TestAContextIsAskedForLast: not for nobody, not with bad options, and not
// where a seal is asked for; what its maker says goes wrong is told.
func TestAContextIsAskedForLast(t *testing.T) {
	t.Parallel()
	asked := 0
	o := anywhere
	o.UnsafeContext = func(context.Context, bellglass.ContextRequest) (bellglass.UnsafeBrowserContext, error) {
		asked++
		return bellglass.UnsafeBrowserContext{}, errors.New("no context today")
	}
	if _, err := bg.Open(t.Context(), bellglass.Principal{Tenant: " ", Run: "x"}, o); err == nil {
		t.Error("for nobody")
	}
	bad := o
	bad.Allow, bad.Mode = []string{"*"}, "allowlist"
	if _, err := bg.Open(t.Context(), who, bad); err == nil {
		t.Error("with bad options")
	}
	strict, _ := own(t, func(o *bellglass.Options) { o.Seal = bellglass.SealProxyOnly })
	if _, err := strict.Open(t.Context(), who, o); reason(err) != bellglass.ReasonSeal {
		t.Errorf("where a seal is asked for: %v", err)
	}
	if asked != 0 {
		t.Errorf("it was asked for %d times", asked)
	}
	if _, err := bg.Open(t.Context(), who, o); reason(err) != bellglass.ReasonBrowserStart || asked != 1 {
		t.Errorf("got %v, asked %d times", err, asked)
	}
}

// TestACallersBrowserThatStandsStillIsKilled when its context cannot be
// disposed of.
func TestACallersBrowserThatStandsStillIsKilled(t *testing.T) {
	t.Parallel()
	b := startTheirs(t)
	o := anywhere
	o.UnsafeContext = func(_ context.Context, want bellglass.ContextRequest) (bellglass.UnsafeBrowserContext, error) {
		return b.hand(b.context(sealed(want.Proxy)))
	}
	err := bg.With(t.Context(), who, o, func(*bellglass.Session) error {
		syscall.Kill(b.cmd.Process.Pid, syscall.SIGSTOP)
		return nil
	})
	if err == nil || b.cmd.ProcessState == nil {
		t.Errorf("got %v, the browser's state is %v", err, b.cmd.ProcessState)
	}
}
