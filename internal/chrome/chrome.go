// Package chrome finds, launches and kills one Chromium, driven over a pipe,
// with a throwaway profile and the switches that close its ways around the
// proxy.
//
// What a [Process] may reach is decided elsewhere: the proxy given in
// [Options] is the one of the browser process itself, and should refuse
// everything; each browser context gets its own. The package knows nothing of
// pages.
package chrome

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"

	"github.com/chromedp/cdproto/browser"

	"github.com/bellglass/bellglass/internal/cdp"
)

// Options of one launch. Binary and Proxy are required.
type Options struct {
	Binary Binary
	// Proxy is host:port of the browser process's own proxy. It should refuse
	// everything, so that whatever forgets its context's proxy fails closed.
	Proxy string
	// Headful shows windows, for local debugging. It needs a full browser and
	// a display, and it is never as well sealed.
	Headful bool
	// ProfileRoot is the folder below which the throwaway profile is made. If
	// empty, the system's folder for temporary files.
	ProfileRoot string
	// UserAgent replaces the browser's own, if not empty.
	UserAgent string
	// Trust is what the browser trusts beside its own authorities. May be nil.
	Trust *Trust
	// OnAttach is told of every target before any message of it arrives; see
	// [cdp.AttachFunc]. May be nil.
	OnAttach cdp.AttachFunc
	// UnsafeFlags are appended to the command line, for tests: a test authority
	// to trust, or a seal to take away. A --disable-features here would replace
	// the whole list of [flags].
	UnsafeFlags []string
	// UnsafeNoSeal leaves out every switch that keeps traffic on the proxy,
	// and the proxy itself: the negative control of the leak tests.
	UnsafeNoSeal bool
}

// Process is a running browser. Close it.
type Process struct {
	*cdp.Conn
	// Version is the full version number, such as "156.0.8078.73".
	Version string
	// Product is what the browser calls itself, such as
	// "HeadlessChrome/156.0.8078.73".
	Product string
	// SandboxOff is empty when Chromium's own sandbox is on, else the reason
	// why it is off, in one clause.
	SandboxOff string
	// Started is when the process was started.
	Started time.Time

	pid     int
	profile *profile
	stderr  *tail
	exited  chan struct{} // closed when the process was reaped
	once    sync.Once
}

// startTimeout bounds a launch, from fork to the first answer. Measured: 57 to
// 990 ms; a loaded two-core machine needs a margin.
const startTimeout = 30 * time.Second

// Start launches the browser and returns when it has answered. ctx bounds only
// the start. A failed start leaves no process and no folder behind.
func Start(ctx context.Context, o Options) (*Process, error) {
	if o.Binary.Path == "" || (o.Proxy == "" && !o.UnsafeNoSeal) {
		return nil, errors.New("chrome: Options need a Binary and a Proxy; an unproxied browser is not started")
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	prof, err := newProfile(o.ProfileRoot)
	if err != nil {
		return nil, fmt.Errorf("chrome: make profile: %w", err)
	}
	p := &Process{profile: prof, stderr: &tail{max: 16 << 10}, exited: make(chan struct{}), Started: time.Now()}
	if err := o.Trust.install(prof.dir); err != nil {
		prof.remove()
		return nil, fmt.Errorf("chrome: write the authorities: %w", err)
	}
	if err := p.launch(o); err != nil {
		prof.remove()
		return nil, fmt.Errorf("chrome: launch %s: %w", o.Binary.Path, err)
	}
	v, err := cdpt.Call(ctx, p.Browser, browser.GetVersion, cdpt.Empty{})
	if err == nil {
		p.Product = v.Product
		p.Version = versionNumber.FindString(v.Product)
		err = checkVersion(v.Product)
	}
	if err != nil {
		said := p.lastWords()
		p.Close()
		return nil, fmt.Errorf("chrome: start %s: %w%s", o.Binary.Path, err, said)
	}
	return p, nil
}

func (p *Process) launch(o Options) error {
	theirR, ourW, err := os.Pipe()
	if err != nil {
		return err
	}
	ourR, theirW, err := os.Pipe()
	if err != nil {
		theirR.Close()
		ourW.Close()
		return err
	}
	p.SandboxOff = SandboxOff()
	cmd := exec.Command(o.Binary.Path, flags(o, p.profile.dir, p.SandboxOff != "")...)
	cmd.ExtraFiles = []*os.File{theirR, theirW} // descriptors 3 and 4, as --remote-debugging-pipe wants
	cmd.Env = environment(p.profile.dir, o.Headful)
	cmd.Dir = p.profile.dir
	cmd.Stderr = p.stderr
	cmd.WaitDelay = time.Second // a grandchild may hold stderr open
	setAttr(cmd)
	err = startBound(cmd, p.exited)
	theirR.Close()
	theirW.Close()
	if err != nil {
		ourR.Close()
		ourW.Close()
		return err
	}
	p.pid = cmd.Process.Pid
	p.Conn = cdp.New(ourR, ourW, o.OnAttach)
	return nil
}

// Pid is the browser process's id, which is also its process group's.
func (p *Process) Pid() int { return p.pid }

// ProfileDir is the throwaway profile folder.
func (p *Process) ProfileDir() string { return p.profile.dir }

// Exited is closed when the browser process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Close kills the browser and everything it started, and removes the profile.
// It returns when the last process is dead. It is idempotent.
func (p *Process) Close() error {
	var err error
	p.once.Do(func() {
		killGroup(p.pid, p.exited)
		p.Conn.Close()
		err = p.profile.remove()
	})
	return err
}

// lastWords quotes the end of what the browser wrote to stderr.
func (p *Process) lastWords() string {
	select { // its last lines arrive with its end
	case <-p.exited:
	case <-time.After(200 * time.Millisecond):
	}
	if s := strings.TrimSpace(p.stderr.String()); s != "" {
		return "; it said: " + s
	}
	return ""
}

// tail keeps the last max bytes written to it.
type tail struct {
	max int
	mu  sync.Mutex
	buf []byte
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if extra := len(t.buf) - t.max; extra > 0 {
		t.buf = append(t.buf[:0], t.buf[extra:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
