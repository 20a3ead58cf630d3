package chrome

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/bellglass/bellglass/internal/jail"
)

// Level is how a browser is held to its proxy; see package jail.
type Level = jail.Level

// The levels, best first.
const (
	Kernel    = jail.Kernel
	Landlock  = jail.Landlock
	ProxyOnly = jail.ProxyOnly
)

// Limits of a browser with all its processes; see package jail.
type Limits = jail.Limits

// SealError says why a level cannot be had on this machine, and the fix.
type SealError = jail.Error

// TrySeal finds out whether a level can be had here, by going all the way to
// where the browser would be executed. It takes some 15 ms. The error is a
// [*SealError].
func TrySeal(ctx context.Context, l Level) error {
	if l == ProxyOnly {
		return nil
	}
	return jail.Try(ctx, l)
}

// CanSeal returns why this browser cannot run at a level that the machine may
// have, as a [*SealError], or nil. A full browser opens a unix socket, for its
// own sake, and ends where it may not; at level landlock none is allowed,
// because a socket by path leads to any service of the user's.
func (b Binary) CanSeal(l Level) error {
	if l == Landlock && !b.Shell {
		return &SealError{Level: l, Step: "start a full browser", Text: "it needs unix sockets, which this level refuses",
			Cause: "the browser, " + b.Path, Fix: InstallHint() + ": headless shell runs at this level"}
	}
	return nil
}

// launchBest launches the browser at the first of the levels asked for that
// can be had, and remembers why the better ones could not.
func (p *Process) launchBest(ctx context.Context, o Options) error {
	levels := o.Seals
	if len(levels) == 0 {
		levels = []Level{ProxyOnly}
	}
	for _, l := range levels {
		err := p.launchAt(ctx, o, l)
		if err == nil {
			p.Seal = l
			return nil
		}
		p.abandon()
		p.Unsealed = append(p.Unsealed, err)
		if refused := (*SealError)(nil); !errors.As(err, &refused) {
			return err // it is not for the jail's sake
		}
	}
	return errors.Join(p.Unsealed...)
}

// abandon clears what a failed launch has left.
func (p *Process) abandon() {
	for _, ln := range p.Listeners {
		ln.Close()
	}
	p.Listeners = nil
	if p.profile != nil {
		p.profile.remove()
		p.profile = nil
	}
}

func (p *Process) launchAt(ctx context.Context, o Options, l Level) error {
	if l == ProxyOnly {
		return p.launchFree(o)
	}
	if err := o.Binary.CanSeal(l); err != nil {
		return err
	}
	theirs, err := p.pipes()
	if err != nil {
		return err
	}
	defer theirs.close()
	connected := false
	defer func() {
		if !connected {
			theirs.closeOurs()
		}
	}()
	spec := jail.Spec{
		Level: l, Path: o.Binary.Path, Listeners: o.Listeners,
		Extra: []*os.File{theirs.r, theirs.w}, Stderr: p.stderr, Limits: o.Limits, Sniff: o.Sniff && l == Kernel,
		Env: fixedEnv, Files: o.Trust.homeFiles(),
	}
	if l == Landlock {
		if spec.Home, err = p.homeOutside(o); err != nil {
			return err
		}
		p.SandboxOff = userNamespacesOff()
	}
	spec.Args = func(home string, listeners []netip.AddrPort) []string {
		if o.Proxy == "" && len(listeners) > 0 {
			o.Proxy = listeners[0].String()
		}
		return flags(o, home, p.SandboxOff != "", l == Landlock && smallShm())
	}
	j, err := jail.Start(ctx, spec)
	if err != nil {
		p.SandboxOff = ""
		return err
	}
	p.jail, p.pid, p.exited, p.Listeners, p.Sniffer = j, j.Pid(), j.Done(), j.Listeners, j.Sniffer
	p.connect(theirs, o)
	connected = true
	return nil
}

// homeOutside makes a profile folder in which the browser's may be another
// user's: only who made the outer folder may sweep it.
func (p *Process) homeOutside(o Options) (string, error) {
	var err error
	if p.profile, err = newProfile(o.ProfileRoot); err != nil {
		return "", fmt.Errorf("make profile: %w", err)
	}
	if err := os.Chmod(p.profile.dir, 0o711); err != nil {
		return "", err
	}
	home := p.profile.dir + "/home"
	return home, os.Mkdir(home, 0o700)
}

// openListeners opens the listeners of a browser that shares our network.
func (p *Process) openListeners(n int) error {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	for range n {
		ln, err := lc.Listen(context.Background(), "tcp4", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		p.Listeners = append(p.Listeners, ln)
	}
	return nil
}
