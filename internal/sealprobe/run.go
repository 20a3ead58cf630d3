package sealprobe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/netns"
)

// run is one run of the probes.
type run struct {
	o      Options
	lab    *netns.Lab
	plan   []probe
	site   *site
	led    *ledger
	things *things

	mu      sync.Mutex
	trouble []string
	layers  map[int]string // what stopped a probe, as far as it was seen
	sent    map[string]int // connections that the proxy made, by address and port
	report  *Report
}

// Run makes all probes, in a lab that [Enter] made. Its error is that they
// could not be made at all.
func Run(ctx context.Context, lab *netns.Lab, o Options) (*Report, error) {
	if lab == nil {
		return nil, ErrOutside
	}
	start := time.Now()
	all := plan(lab.IPv6())
	s, err := newSite(all)
	if err != nil {
		return nil, err
	}
	r := &run{
		o: o, lab: lab, plan: all, site: s, report: &Report{},
		led:    newLedger(numbered(all, "browser/multicast"), numbered(all, "browser/anything else")),
		layers: map[int]string{}, sent: map[string]int{},
	}
	os.Setenv("TMPDIR", "/tmp") // whatever it was is covered
	stop, err := r.serve()
	if err != nil {
		return nil, err
	}
	defer stop()
	if r.things, err = setUp(all, r.led); err != nil {
		return nil, err
	}
	defer r.things.Close()
	os.Setenv(secretVariable, r.things.secret)
	defer os.Unsetenv(secretVariable)
	r.report.Seal = Off
	sealedPages, unsealedPages := r.sealedPages, r.unsealedPages
	if o.NativesOnly {
		sealedPages, unsealedPages = nothing, nothing
	}
	// Sealed first: what the control has begun, the kernel may end seconds
	// later, as when it leaves a multicast group.
	if o.Seal != Off {
		r.progress("trying to get out, sealed")
		if err := r.phase(ctx, sealed, sealedPages, r.sealedNatives); err != nil {
			return nil, err
		}
	}
	r.progress("the control: the same without a seal")
	if err := r.phase(ctx, control, unsealedPages, r.unsealedNatives); err != nil {
		return nil, err
	}
	r.finish(start)
	return r.report, nil
}

func nothing(context.Context) error { return nil }

func (r *run) progress(s string) {
	if r.o.Progress != nil {
		r.o.Progress(s)
	}
}

// wrong notes what kept probes from being made.
func (r *run) wrong(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = append(r.trouble, fmt.Sprintf(format, args...))
}

// serve opens everything that answers, near and far.
func (r *run) serve() (stop func(), err error) {
	var closers []io.Closer
	stop = func() {
		for _, c := range closers {
			c.Close()
		}
	}
	quiet := log.New(io.Discard, "", 0)
	// Two, because a server that has served plain HTTP forgets HTTP/2.
	plain := &http.Server{Handler: r.site, ErrorLog: quiet}
	secure := &http.Server{Handler: r.site, ErrorLog: quiet, TLSConfig: r.site.tls()}
	closers = append(closers, plain, secure)
	fail := func(err error) (func(), error) {
		stop()
		return nil, fmt.Errorf("sealprobe: listen: %w", err)
	}
	for addr, serve := range map[string]func(net.Listener) error{
		":80": plain.Serve, ":443": func(ln net.Listener) error { return secure.ServeTLS(ln, "", "") },
	} {
		ln, err := r.lab.Listen("tcp", addr)
		if err != nil {
			return fail(err)
		}
		go serve(ln)
	}
	for n, p := range r.plan {
		if _, ok := fixed[p.place]; !ok {
			continue
		}
		for _, ph := range []phase{control, sealed} {
			listen := r.lab.Listen
			if p.place.near() {
				listen = net.Listen
			}
			ln, err := listen("tcp", ":"+strconv.Itoa(int(probeTarget{p.place, n, ph}.ownPort())))
			if err != nil {
				return fail(err)
			}
			go plain.Serve(ln)
		}
	}
	dns, err := r.lab.ServeDNS(r.site.resolve)
	if err != nil {
		return fail(err)
	}
	closers = append(closers, dns)
	return stop, nil
}

// settle is how long a phase is listened to after its last probe has ended.
const settle = 300 * time.Millisecond

// phase records what is sent while pages and native probes do their best.
func (r *run) phase(ctx context.Context, ph phase, pages, natives func(context.Context) error) error {
	r.things.begin(ph)
	link, err := r.lab.Sniff()
	if err != nil {
		return err
	}
	defer link.Close()
	lo, err := r.lab.SniffLoopback()
	if err != nil {
		return err
	}
	defer lo.Close()
	var errs [2]error
	var wg sync.WaitGroup
	for i, f := range []func(context.Context) error{pages, natives} {
		wg.Go(func() { errs[i] = f(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	select {
	case <-time.After(settle): // what is on its way arrives
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.things.written(ph)
	r.things.sort(func() {
		r.led.packets(ph, link.Packets(), r.expected(ph))
		r.led.loopback(lo.Packets())
	})
	for what, n := range map[string]int{"link": link.Dropped(), "loopback": lo.Dropped()} {
		if n > 0 {
			r.wrong("the sniffer of the %s missed %d packets", what, n)
		}
	}
	return nil
}

// expected says which packets the service itself may send: questions for the
// site's name, and the connections that the proxy says it made.
func (r *run) expected(ph phase) func(netns.Packet) bool {
	flows := map[string]int{} // connections seen, by address
	counted := map[string]bool{}
	return func(p netns.Packet) bool {
		if p.Proto == "udp" && p.Dst.Port() == 53 {
			for _, name := range questions(p.Data) {
				if !r.site.expectedName(name) {
					return false
				}
			}
			return true
		}
		if p.Proto != "tcp" || !r.site.expectedAddr(p.Dst) {
			return false
		}
		if ph == control {
			return true // there is no proxy
		}
		flow := p.Src.String() + ">" + p.Dst.String()
		if !counted[flow] {
			counted[flow] = true
			flows[p.Dst.String()]++
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return flows[p.Dst.String()] <= r.sent[p.Dst.String()]
	}
}

// event hears of the proxy's decisions, from many goroutines.
func (r *run) event(e egress.Event) {
	if e.Kind != egress.EventDecision {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.site.resolveQuietly(e.Host) {
		if e.Reason != "" && e.Dial == 0 {
			break // refused before it was dialed
		}
		r.sent[net.JoinHostPort(a.String(), strconv.Itoa(int(e.Port)))]++
	}
	if n, ok := r.probeOf(e.Host, e.Port); ok && e.Reason != "" {
		r.layers[n] = "the proxy: " + string(e.Reason)
	}
}

// finish makes the report of what was collected.
func (r *run) finish(start time.Time) {
	r.report.Trouble = r.trouble
	for n, p := range r.plan {
		res := Result{
			ID: p.id(), From: p.from, Tried: p.tried(), Layer: r.layers[n],
			Control: append([]Seen{}, r.led.seen[control][n]...), Sealed: append([]Seen{}, r.led.seen[sealed][n]...),
			Verdict: NotObservable,
		}
		switch {
		case len(res.Sealed) > 0, r.o.Seal == Off && len(res.Control) > 0:
			res.Verdict = Leak
		case len(res.Control) > 0:
			res.Verdict = Held
		}
		if res.Layer == "" && res.Verdict == Held {
			res.Layer = p.means
		}
		if res.Verdict != Held {
			res.Layer = ""
		}
		r.report.Results = append(r.report.Results, res)
	}
	r.report.sum(start)
}
