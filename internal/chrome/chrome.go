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
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"

	"github.com/chromedp/cdproto/browser"

	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/jail"
)

// Options of one launch. Binary is required, and Proxy or Listeners.
type Options struct {
	Binary Binary
	// Seals are the levels to try, in order; the first that can be had here is
	// used. If empty, only [ProxyOnly].
	Seals []Level
	// Limits bound the browser's processes, at every level but [ProxyOnly].
	Limits jail.Limits
	// Listeners is how many [Process.Listeners] to open, for proxies.
	Listeners int
	// Proxy is host:port of the browser process's own proxy, as the browser
	// sees it. It should refuse everything, so that whatever forgets its
	// context's proxy fails closed. If empty, the first of the listeners.
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
	// Sniff asks for [Process.Sniffer]. Level [Kernel] only.
	Sniff bool
	// OnAttach is told of every target before any message of it arrives; see
	// [cdp.AttachFunc]. May be nil.
	OnAttach cdp.AttachFunc
	// UnsafeFlags are appended to the command line, for tests: a test authority
	// to trust, or a seal to take away. A --disable-features here would replace
	// the whole list of [flags].
	UnsafeFlags []string
	// UnsafeNoSeal leaves out every switch that keeps traffic on the proxy,
	// and the proxy itself: the negative control of the leak tests. A jail, if
	// Seals ask for one, stays.
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
	// Seal is the level at which the browser runs.
	Seal Level
	// Unsealed says why each better level of Options.Seals could not be had.
	Unsealed []error
	// Listeners are those that the browser can reach. They are the caller's to
	// serve; Close closes them.
	Listeners []net.Listener
	// Sniffer, if asked for, is a packet socket in the browser's network. Close
	// closes it.
	Sniffer *os.File
	// Started is when the process was started.
	Started time.Time

	pid     int
	jail    *jail.Jail // nil at level proxy-only
	profile *profile   // nil at level kernel, where it is in the jail
	stderr  *tail
	exited  <-chan struct{} // closed when the process was reaped
	once    sync.Once
}

// startTimeout bounds a launch, from fork to the first answer. Measured: 57 to
// 990 ms; a loaded two-core machine needs a margin.
const startTimeout = 30 * time.Second

// Start launches the browser and returns when it has answered. ctx bounds only
// the start. A failed start leaves no process and no folder behind.
func Start(ctx context.Context, o Options) (*Process, error) {
	if o.Binary.Path == "" || (o.Proxy == "" && o.Listeners == 0 && !o.UnsafeNoSeal) {
		return nil, errors.New("chrome: Options need a Binary and a Proxy; an unproxied browser is not started")
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p := &Process{stderr: &tail{max: 16 << 10}, Started: time.Now()}
	if err := p.launchBest(ctx, o); err != nil {
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

// launchFree launches the browser without a jail.
func (p *Process) launchFree(o Options) error {
	prof, err := newProfile(o.ProfileRoot)
	if err != nil {
		return fmt.Errorf("make profile: %w", err)
	}
	p.profile = prof
	if err := o.Trust.install(prof.dir); err != nil {
		return fmt.Errorf("write the authorities: %w", err)
	}
	if err := p.openListeners(o.Listeners); err != nil {
		return err
	}
	if o.Proxy == "" && o.Listeners > 0 {
		o.Proxy = p.Listeners[0].Addr().String()
	}
	theirs, err := p.pipes()
	if err != nil {
		return err
	}
	defer theirs.close()
	p.SandboxOff = SandboxOff()
	cmd := exec.Command(o.Binary.Path, flags(o, prof.dir, p.SandboxOff != "", smallShm())...)
	cmd.ExtraFiles = []*os.File{theirs.r, theirs.w} // descriptors 3 and 4, as --remote-debugging-pipe wants
	cmd.Env = environment(prof.dir, o.Headful)
	cmd.Dir = prof.dir
	cmd.Stderr = p.stderr
	cmd.WaitDelay = time.Second // a grandchild may hold stderr open
	setAttr(cmd)
	exited := make(chan struct{})
	if err := startBound(cmd, exited); err != nil {
		theirs.closeOurs()
		return err
	}
	p.pid, p.exited = cmd.Process.Pid, exited
	p.connect(theirs, o)
	return nil
}

// pipes are the two ends of the debugging pipe that the browser gets, and the
// two that are ours.
type pipes struct{ r, w, ourR, ourW *os.File }

func (p *Process) pipes() (*pipes, error) {
	theirR, ourW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourR, theirW, err := os.Pipe()
	if err != nil {
		theirR.Close()
		ourW.Close()
		return nil, err
	}
	return &pipes{theirR, theirW, ourR, ourW}, nil
}

func (t *pipes) close()     { t.r.Close(); t.w.Close() }
func (t *pipes) closeOurs() { t.ourR.Close(); t.ourW.Close() }

// PipeFunc is given our ends of the debugging pipe of a browser that is being
// started, and returns those to use instead.
type PipeFunc func(Options, io.ReadCloser, io.WriteCloser) (io.ReadCloser, io.WriteCloser)

var pipeFunc atomic.Pointer[PipeFunc]

// InterposeForTests puts f into the pipe of every browser started from now on,
// for tests of what goes wrong there.
func InterposeForTests(f PipeFunc) { pipeFunc.Store(&f) }

func (p *Process) connect(t *pipes, o Options) {
	var r io.ReadCloser = t.ourR
	var w io.WriteCloser = t.ourW
	if f := pipeFunc.Load(); f != nil {
		r, w = (*f)(o, r, w)
	}
	p.Conn = cdp.New(r, w, o.OnAttach)
}

// Pid is the browser process's id, which is also its process group's.
func (p *Process) Pid() int { return p.pid }

// ProfileDir is the throwaway profile folder, or "" at level [Kernel], where it
// is in memory and nobody outside sees it.
func (p *Process) ProfileDir() string {
	if p.profile == nil {
		return ""
	}
	return p.profile.dir
}

// Exited is closed when the browser process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Ended is which limit the browser was ended for, or nil. It must be called
// after Exited only.
func (p *Process) Ended() error {
	if p.jail == nil {
		return nil
	}
	if err := p.jail.Err(); errors.Is(err, jail.ErrMemory) || errors.Is(err, jail.ErrTasks) {
		return err
	}
	return nil
}

// Close kills the browser and everything it started, and removes the profile.
// It returns when the last process is dead. It is idempotent.
func (p *Process) Close() error {
	var err error
	p.once.Do(func() {
		if p.jail != nil {
			p.jail.Kill()
		}
		if p.Seal != Kernel { // where the kernel kills what process 1 has started
			killGroup(p.pid, p.exited)
		}
		p.Conn.Close()
		for _, ln := range p.Listeners {
			ln.Close()
		}
		if p.Sniffer != nil {
			p.Sniffer.Close()
		}
		if p.profile != nil {
			err = p.profile.remove()
		}
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
