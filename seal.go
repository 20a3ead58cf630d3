package bellglass

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/chrome"
)

// SealLevel is how well the browser is held to its proxy.
type SealLevel string

// The levels, best first.
const (
	// SealKernel: the browser runs in namespaces of its own. Its network has
	// nothing but the proxy's listeners, its file system no folder of yours.
	SealKernel SealLevel = "kernel"
	// SealLandlock: the browser shares the machine's network, but the kernel
	// lets it open TCP connections to the ports of the proxy's listeners only
	// (at any address: its rules know ports alone), and files
	// only where it must.
	SealLandlock SealLevel = "landlock"
	// SealProxyOnly: the browser is told to use nothing but the proxy, and
	// everything known that would not obey is switched off; nothing outside
	// Chromium enforces it.
	SealProxyOnly SealLevel = "proxy-only"
	// SealAuto, as an option, is the best of these that works here.
	SealAuto SealLevel = "auto"
)

var sealLevels = []SealLevel{SealKernel, SealLandlock, SealProxyOnly}

// seals are the levels to try, best first.
func (o Options) seals() []chrome.Level {
	if chrome.Headful(o.Getenv) { // a window needs the display's socket
		return o.notBelow([]SealLevel{SealProxyOnly})
	}
	if o.Seal != SealAuto {
		return o.notBelow([]SealLevel{o.Seal})
	}
	return o.notBelow(sealLevels)
}

// notBelow leaves out what is below the level required.
func (o Options) notBelow(levels []SealLevel) []chrome.Level {
	var out []chrome.Level
	for _, l := range levels {
		if o.RequireSeal == "" || !chrome.Level(l).Below(chrome.Level(o.RequireSeal)) {
			out = append(out, chrome.Level(l))
		}
	}
	return out
}

// checkSeal checks the two options.
func (o Options) checkSeal() error {
	if o.Seal != SealAuto && !slices.Contains(sealLevels, o.Seal) {
		return fmt.Errorf("Seal %q is none of auto, kernel, landlock, proxy-only", o.Seal)
	}
	if o.RequireSeal != "" && !slices.Contains(sealLevels, o.RequireSeal) {
		return fmt.Errorf("RequireSeal %q is none of kernel, landlock, proxy-only", o.RequireSeal)
	}
	if len(o.seals()) == 0 {
		if chrome.Headful(o.Getenv) {
			return fmt.Errorf("RequireSeal %q cannot be had with a window: unset BELLGLASS_BROWSER_HEADLESS", o.RequireSeal)
		}
		return fmt.Errorf("Seal %q is below RequireSeal %q", o.Seal, o.RequireSeal)
	}
	return nil
}

// errSeal: no level that is allowed can be had.
var errSeal = errors.New("the browser cannot be sealed as required")

// Seal returns how well the browser is held to its proxy, and why not better;
// the reasons name what is in the way and the fix. Before the browser has been
// started it finds out by trying, which takes some 20 ms. The error is that no
// allowed level can be had; it is an [*Error].
func (b *Browser) Seal(ctx context.Context) (level SealLevel, why []error, err error) {
	b.mu.Lock()
	level, why = b.seal, b.unsealed
	b.mu.Unlock()
	if level != "" {
		return level, why, nil
	}
	why = nil
	bin, missing := b.find()
	for _, l := range b.o.seals() {
		err := chrome.TrySeal(ctx, l)
		if err == nil && missing == nil {
			err = bin.CanSeal(l)
		}
		if err == nil {
			b.sealed(SealLevel(l), why)
			return SealLevel(l), why, nil
		}
		why = append(why, err)
	}
	return "", why, explain("seal", fmt.Errorf("%w: %w", errSeal, errors.Join(why...)), nil)
}

// sealed notes the level at which browsers run from now on: what worked once
// must work again, and nothing is weakened silently later.
func (b *Browser) sealed(l SealLevel, why []error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seal != "" {
		return
	}
	b.seal, b.unsealed = l, why
	b.log.Info("seal", "level", l)
	for _, err := range why {
		b.log.Warn("the browser could be sealed better", "level", l, "error", err)
	}
}

// startSeals are the levels at which to start a browser.
func (b *Browser) startSeals() []chrome.Level {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seal != "" {
		return []chrome.Level{chrome.Level(b.seal)}
	}
	return b.o.seals()
}

// limits of a browser's processes. A page takes some 30 tasks, and a frame of
// another site as many.
func (o Options) limits() chrome.Limits {
	return chrome.Limits{Memory: o.MemoryLimit, Tasks: 1024 + 128*o.MaxPages}
}

// watch says in the log when a browser ends for a limit. Its calls learn of it
// as of a crash.
func (b *Browser) watch(p *chrome.Process) {
	go func() {
		<-p.Exited()
		if err := p.Ended(); err != nil {
			b.log.Warn("the browser was ended", "pid", p.Pid(), "reason", err)
		}
	}()
}

// slots are the endpoints of a worker: as many as its browser can reach, made
// once, because at level kernel nobody can add one later.
type slots struct {
	all    []*egress.Endpoint
	free   chan *egress.Endpoint
	broken chan struct{} // closed when waiting is in vain
}

// endpoints is how many a worker needs: the process's own, those leased and
// warm, and some for pages that are still being closed.
func endpoints(pages int) int { return 1 + pages + pages/2 + warmPages + 4 }

func newSlots(p *egress.Proxy, proc *chrome.Process) *slots {
	s := &slots{free: make(chan *egress.Endpoint, len(proc.Listeners)), broken: make(chan struct{})}
	for i, ln := range proc.Listeners {
		end := p.Serve(ln)
		s.all = append(s.all, end)
		if i > 0 { // the first denies everything, as it is never assigned
			s.free <- end
		}
	}
	return s
}

// take returns an endpoint, after waiting for one if need be.
func (s *slots) take(ctx context.Context) (*egress.Endpoint, error) {
	select {
	case end := <-s.free:
		return end, nil
	case <-s.broken:
		return nil, fmt.Errorf("%w: it made no page, and no listener is left", errStart)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *slots) close() {
	for _, end := range s.all {
		end.Close()
	}
}
