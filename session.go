package bellglass

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/guard"
	"github.com/bellglass/bellglass/internal/pool"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// Defaults of [SessionOptions], and what is not configurable.
const (
	DefaultActionTimeout = 10 * time.Second
	DefaultSessionIdle   = 10 * time.Minute
	DefaultSessionAge    = time.Hour
	DefaultSessions      = 20 // of one tenant at one time
)

// SessionOptions configure a [Session]. The zero value may reach what
// [Options].Allow and [Options].Resources name and nothing else, over https
// only, and fills no protected field.
type SessionOptions struct {
	// Mode says what may be reached at all. If empty, [policy.ModeAllowlist],
	// whatever [Options].Mode is: a session can send.
	Mode policy.Mode
	// Allow and Resources are host lists as in [Options]; if both are nil,
	// those of the Browser.
	Allow, Resources []string
	// Act lists the hosts on whose pages may be clicked and typed, and that
	// forms may be sent to. If nil, every host that may be navigated to; if
	// empty but not nil, none.
	Act []string
	// AllowInsecureHTTP permits plain http. Exact [Options].UnsafeAllow entries
	// are exempt in any case.
	AllowInsecureHTTP bool

	// AllowSensitiveFill lets passwords, one-time codes and payment cards be
	// filled in. Their values are never shown in any case.
	AllowSensitiveFill bool
	// Selectors lets clicks and fills name their element by a CSS selector.
	Selectors bool
	// FullURLs keeps the query and the fragment of URLs in results.
	FullURLs bool
	// Guardrails are patterns of what may not be shown, typed and opened.
	Guardrails Guardrails
	// RealTime leaves pages on the real clock. Otherwise a page's time stands
	// still between two calls, and a call lets a bounded piece of it pass: for
	// pages that live on sockets and heartbeats that is wrong.
	RealTime bool
	// RealQuiet is how long a page on the real clock may have nothing in flight
	// before a call looks at it. If zero, 300 ms.
	RealQuiet time.Duration
	// ArtefactDir is the folder below which screenshots are written, in one of
	// the principal's own. If empty, none are made.
	ArtefactDir string

	// UnsafeContext, if not nil, makes the browser context that the session uses,
	// in a browser of the caller's. It is unsafe because that browser is in no
	// jail of ours and has switches that nobody here has chosen: what of it does
	// not obey its proxy leaves unseen. It is called once, when all else about
	// the session is in order; a context that was handed in before, has been
	// used, or does not send what it asks for to the proxy it was given is
	// refused with [ReasonSeal]. Where Options.Seal or Options.RequireSeal ask
	// for a seal, so is every one.
	UnsafeContext func(context.Context, ContextRequest) (UnsafeBrowserContext, error)

	// ActionTimeout bounds one act, idle and age the session: it is closed so
	// long after its last call, and so long after it was opened.
	ActionTimeout, IdleTimeout, MaxAge time.Duration
	// MaxPerTenant bounds the sessions that a tenant has open at one time.
	MaxPerTenant int
}

// Guardrails are an operator's patterns: regular expressions of package
// regexp. They apply to whole content, before it is cut.
type Guardrails struct {
	DenyOutput   []DenyOutput
	DenyCommands []string // typed text, and the addresses of navigations
	DeniedTools  []string // names or globs of package path
}

// DenyOutput is a pattern of what a session may not show.
type DenyOutput struct {
	Pattern string
	Block   bool // return nothing of the result, instead of redacting the match
}

func (g Guardrails) compile() (*guard.Rules, error) {
	c := guard.Config{DenyCommands: g.DenyCommands, DeniedTools: g.DeniedTools}
	for _, o := range g.DenyOutput {
		action := guard.Redact
		if o.Block {
			action = guard.Block
		}
		c.DenyOutput = append(c.DenyOutput, guard.Output{Pattern: o.Pattern, Action: action})
	}
	return guard.Compile(c)
}

func (o SessionOptions) withDefaults(b *Browser) SessionOptions {
	if o.Mode == "" {
		o.Mode = policy.ModeAllowlist
	}
	if o.Allow == nil && o.Resources == nil {
		o.Allow, o.Resources = b.o.Allow, b.o.Resources
	}
	if o.ActionTimeout == 0 {
		o.ActionTimeout = min(DefaultActionTimeout, b.o.CallTimeout*2/5)
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = DefaultSessionIdle
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultSessionAge
	}
	if o.MaxPerTenant == 0 {
		o.MaxPerTenant = DefaultSessions
	}
	return o
}

// sessionRules is what a session's options compile to.
type sessionRules struct {
	reach *policy.Rules
	act   *policy.Rules // nil: as reach
	guard *guard.Rules
}

func (o SessionOptions) compile(b *Browser) (sessionRules, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.ActionTimeout <= 0 || o.ActionTimeout >= b.o.CallTimeout {
		bad("ActionTimeout %v must be positive and below CallTimeout %v", o.ActionTimeout, b.o.CallTimeout)
	}
	if o.IdleTimeout <= 0 || o.MaxAge <= 0 || o.MaxPerTenant <= 0 {
		bad("IdleTimeout, MaxAge and MaxPerTenant must be positive")
	}
	if o.RealQuiet < 0 || o.RealQuiet >= b.o.CallTimeout {
		bad("RealQuiet %v must not be negative, and below CallTimeout %v", o.RealQuiet, b.o.CallTimeout)
	}
	c := policy.Config{
		Mode: o.Mode, Allow: o.Allow, Resources: o.Resources, AllowInsecureHTTP: o.AllowInsecureHTTP,
		UnsafeAllow: b.o.UnsafeAllow, AllowedPrivateCIDRs: b.o.AllowedPrivateCIDRs, Observe: b.o.Observe,
	}
	var r sessionRules
	var err error
	if r.reach, err = policy.Compile(c); err != nil {
		errs = append(errs, err)
	}
	if o.Act != nil {
		c.Mode, c.Allow, c.Resources, c.Observe = policy.ModeAllowlist, o.Act, nil, false
		if r.act, err = policy.Compile(c); err != nil {
			bad("Act: %w", err)
		}
	}
	if r.guard, err = o.Guardrails.compile(); err != nil {
		bad("Guardrails: %w", err)
	}
	return r, errors.Join(errs...)
}

// Check reports everything that is wrong with the options, as [Browser.Open]
// would.
func (o SessionOptions) Check(b *Browser) error {
	if _, err := o.withDefaults(b).compile(b); err != nil {
		return fmt.Errorf("bellglass: session options: %w", err)
	}
	return nil
}

// Session is one sealed browser context of one principal, used call after
// call: its own cookies, its own way out, its own rules. Calls are serialised.
// It is safe for concurrent use. Close it; it also ends by itself when it is
// idle or old, and with its Browser. Make one with [Browser.Open] or, better,
// [Browser.With].
type Session struct {
	b     *Browser
	who   Principal
	o     SessionOptions
	rules sessionRules
	id    string
	run   *egress.Run
	held  held
	live  *tab.Live

	life   context.Context // ends with the session
	cancel context.CancelCauseFunc
	turn   chan struct{} // capacity 1: the call in progress
	idle   *time.Timer
	age    *time.Timer
	once   sync.Once
	closed error // of Close

	// Of the call in progress:
	moved    int64 // bytes that were charged to the tenant
	table    digest.Table
	shot     int            // screenshots so far
	refusals map[string]int // reported so far, by host
	last     *sight
}

// errSessionOver is why calls of a closed session end.
var errSessionOver = errors.New("session is closed")

// Open opens a session for a principal. Its error is an [*Error], whose Status
// and Reason say what to do, or says what is wrong with the options. Nothing is
// started and nothing is sent before principal and options are found in order.
// ctx bounds the opening only.
func (b *Browser) Open(ctx context.Context, who Principal, o SessionOptions) (*Session, error) {
	if err := who.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults(b)
	rules, err := o.compile(b)
	if err != nil {
		return nil, fmt.Errorf("bellglass: session options: %w", err)
	}
	ctx = b.timed(ctx, "open")
	defer b.span(ctx, SpanCall)()
	ctx, done, err := b.enter(ctx)
	if errors.Is(err, pool.ErrDraining) {
		return nil, explain("open", err, nil)
	}
	if err != nil {
		return nil, err
	}
	defer done()
	s := &Session{
		b: b, who: who, o: o, rules: rules, id: rand.Text(), turn: make(chan struct{}, 1),
		run: egress.NewRun(egress.RunConfig{Tenant: who.Tenant, ID: who.Run, Rules: rules.reach}),
	}
	s.life, s.cancel = context.WithCancelCause(context.Background())
	if err := b.enlist(s); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		b.dismiss(s)
		s.cancel(errSessionOver)
		return nil, explain("open", deadlineFirst(ctx, err), s.run)
	}
	s.idle = time.AfterFunc(o.IdleTimeout, func() { s.end("idle") })
	s.age = time.AfterFunc(o.MaxAge, func() { s.end("old") })
	return s, nil
}

// start leases a page. Everything that a page could do before it is sealed is
// impossible: the context has its proxy, and documents are asked about, before
// the first address is known.
func (s *Session) start(ctx context.Context) error {
	leave, err := s.b.fleet.Admit(ctx, s.who.Tenant)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		held, err := s.hold(ctx)
		if err != nil {
			leave()
			return err
		}
		held.leave = leave
		if err = s.enliven(ctx, held); err == nil {
			s.held = held
			return nil
		}
		held.spoil()
		if held.close() != nil {
			held.kill()
		}
		held.release()
		// Its process, or the whole browser, has died while the page was kept
		// ready: nothing was done yet, and another will do.
		if try > 0 || ctx.Err() != nil || !errors.Is(err, tab.ErrCrashed) || s.o.UnsafeContext != nil {
			leave()
			return err
		}
	}
}

// enliven makes the page one of the session's.
func (s *Session) enliven(ctx context.Context, held held) error {
	held.end.Assign(s.run)
	live, err := held.tab.Live(ctx, tab.LiveOptions{
		Timeout: s.b.o.NavigationTimeout, MaxBytes: s.b.o.MaxPageBytes, Header: egress.ReasonHeader,
		Span:  s.b.tabSpans(),
		Check: s.checkPlace, Send: s.maySend, SendFrame: s.maySendFrame, Unstick: func(d time.Duration) { s.run.CutSilent(d) }, Real: s.o.RealTime, Quiet: s.o.RealQuiet,
	})
	s.live = live
	return err
}

// held is the page that a session has, and the listener that its context uses
// as proxy.
type held struct {
	tab     *tab.Tab
	end     *egress.Endpoint
	close   func() error // disposes of the context
	kill    func() error // ends the browser, if that failed
	spoil   func()       // keeps the browser from further use
	dead    func() bool  // the browser is
	release func()       // gives back what is left of it
	leave   func()       // lets the next caller in; comes last
}

// hold takes a page of one of our browsers, or of the caller's.
func (s *Session) hold(ctx context.Context) (held, error) {
	if s.o.UnsafeContext != nil {
		return s.claim(ctx)
	}
	slot, release, err := s.b.lease(ctx, s.who.Tenant)
	if err != nil {
		return held{}, err
	}
	kill := func() error {
		slot.distrust()
		return slot.proc.Close()
	}
	return held{tab: slot.tab, end: slot.end, close: slot.close, kill: kill, spoil: slot.distrust, dead: slot.dead, release: release}, nil
}

// With opens a session, calls f with it and closes it, whatever f does; a
// session also ends when ctx does. The error joins those of opening, of f and
// of closing.
func (b *Browser) With(ctx context.Context, who Principal, o SessionOptions, f func(*Session) error) (err error) {
	s, err := b.Open(ctx, who, o)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(s)
}

// enlist counts a session in.
func (b *Browser) enlist(s *Session) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	n := 0
	for _, o := range b.sessions {
		if o.who.Tenant == s.who.Tenant {
			n++
		}
	}
	most := s.o.MaxPerTenant
	if q := b.o.quota(s.who.Tenant).Sessions; q > 0 {
		most = min(most, q)
	}
	if n >= most {
		return reasonError("open", ReasonTenantQuota, "", nil)
	}
	if b.sessions == nil {
		b.sessions = map[string]*Session{}
	}
	b.sessions[s.id] = s
	return nil
}

func (b *Browser) dismiss(s *Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sessions, s.id)
}

// Session returns the open session of that handle, if it is the principal's
// tenant's; otherwise an [*Error] with [ReasonUnknownSession], which does not
// tell whether there is one of somebody else's.
func (b *Browser) Session(who Principal, id string) (*Session, error) {
	b.mu.Lock()
	s := b.sessions[id]
	b.mu.Unlock()
	if s == nil || s.who.Tenant != who.Tenant || strings.TrimSpace(who.Tenant) == "" || s.life.Err() != nil {
		return nil, unknownSession("session")
	}
	return s, nil
}

func unknownSession(op string) *Error {
	return reasonError(op, ReasonUnknownSession, "", nil)
}

// closeSessions closes all sessions, for [Browser.Close].
func (b *Browser) closeSessions() {
	b.mu.Lock()
	all := make([]*Session, 0, len(b.sessions))
	for _, s := range b.sessions {
		all = append(all, s)
	}
	b.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() { s.Close() })
	}
	wg.Wait()
}

// ID is the handle of the session: unguessable, and good for its tenant only.
func (s *Session) ID() string { return s.id }

// Principal is on whose behalf the session acts.
func (s *Session) Principal() Principal { return s.who }

// Done is closed when the session has ended, for whatever reason.
func (s *Session) Done() <-chan struct{} { return s.life.Done() }

func (s *Session) end(why string) {
	s.b.log.Info("session closed", "why", why, "tenant", s.who.Tenant, "run", s.who.Run)
	s.Close() // says in the log what went wrong
}

// Close ends the session: the call in progress, then its pages, its context
// and its way out. It is idempotent. An error means that the context could not
// be disposed of, and that the browser it was in was killed instead; the log
// says so, too, for sessions that end with nobody to be told.
func (s *Session) Close() error {
	s.once.Do(func() {
		s.cancel(errSessionOver)
		s.idle.Stop()
		s.age.Stop()
		s.turn <- struct{}{} // the call in progress has ended; there will be no other
		s.b.dismiss(s)
		s.held.end.Release() // whatever the pages still do, nothing leaves
		if err := s.held.close(); err != nil {
			s.closed = fmt.Errorf("bellglass: close: %w", err)
			if err := s.held.kill(); err != nil {
				s.closed = errors.Join(s.closed, err)
			}
			s.b.log.Error("session did not close in order", "tenant", s.who.Tenant, "run", s.who.Run, "error", s.closed)
		}
		s.held.release()
		s.held.leave()
	})
	return s.closed
}
