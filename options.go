package bellglass

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/policy"
)

// Defaults of [Options].
const (
	DefaultCallTimeout       = 25 * time.Second
	DefaultNavigationTimeout = 15 * time.Second
	DefaultTextLimit         = 12_000   // characters
	DefaultMaxPageBytes      = 25 << 20 // bytes, decoded
	DefaultRecyclePages      = 200
	DefaultRecycleAge        = time.Hour
	DefaultRecycleMemory     = 1 << 30 // bytes
	DefaultCacheTTL          = 5 * time.Minute
	DefaultHostRate          = 120 // reads of one host a minute
)

// Options configure a [Browser]. The zero value reads public pages with the
// best browser found. New copies and checks it.
type Options struct {
	// BrowserBin is the path of a Chromium. If empty, the environment
	// (BELLGLASS_BROWSER_BIN, FORGE_BROWSER_BIN), then the usual places.
	BrowserBin string
	// Getenv replaces the environment for finding the browser and for
	// BELLGLASS_BROWSER_HEADLESS. If nil, os.Getenv.
	Getenv func(string) string

	// Engine is what reads pages. If empty, [EngineBrowser].
	Engine Engine

	// Seal is how the browser is to be held to its proxy. If empty, [SealAuto].
	// Any other level is used or, if it cannot be had, no browser is started.
	Seal SealLevel
	// RequireSeal is the lowest level to accept; New fails where it cannot be
	// had. If empty, any.
	RequireSeal SealLevel

	// Mode says what may be reached at all. If empty, [policy.ModePublic]:
	// any public host, with private, loopback and metadata addresses refused.
	Mode policy.Mode
	// Allow and Resources are host lists; the grammar is that of
	// [policy.Config].
	Allow, Resources []string
	// RequireHTTPS refuses http URLs. Exact UnsafeAllow entries are exempt.
	RequireHTTPS bool
	// UnsafeAllow lists exact addresses with port ("127.0.0.1:8080") that are
	// otherwise refused: the only way to loopback, for tests and local
	// development. Each is logged.
	UnsafeAllow []string
	// AllowedPrivateCIDRs lists private ranges that hosts named in Allow or
	// Resources may have. Each is logged.
	AllowedPrivateCIDRs []string
	// Resolve, if not nil, replaces the resolver. It must return every A and
	// AAAA address; its answers are judged like all others.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// UnsafeDial, if not nil, replaces the dialer. It is given addresses that
	// passed judgement; it is unsafe because the judgement is then no longer
	// repeated on the socket. It exists for tests with an internet of their
	// own.
	UnsafeDial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

	// Observe lets pages load from any public host, not only from those listed,
	// and tells in [Head].Needed which these were: how to learn the list that
	// ModeAllowlist, which it needs, lacks. Each is logged.
	Observe bool
	// Upstream is another proxy that makes the connections: a gateway (another
	// bellglass egress proxy), which also resolves and judges names, or anybody's
	// forward proxy, which is asked for addresses that were judged here. What
	// UnsafeAllow opens is local by nature and never goes there. Without URL,
	// connections are made here.
	Upstream egress.UpstreamConfig

	// CAFile names a file of authorities in PEM, such as a company's, that the
	// browser trusts beside its own, and the plain engine beside the system's.
	// Certificate errors are never ignored. For the browser it needs Linux and
	// certutil.
	CAFile string

	// CallTimeout bounds one call, everything included; NavigationTimeout the
	// time until a document is there, and must be shorter.
	CallTimeout, NavigationTimeout time.Duration
	// TextLimit is the most characters (not bytes) of page text that a call
	// returns.
	TextLimit int
	// CacheTTL is how long a page that was read is kept for its principal, for
	// calls that go on or ask something else. If negative, not at all.
	CacheTTL time.Duration
	// MaxPageBytes is the most bytes of response bodies, decoded, that a page
	// may load.
	MaxPageBytes int64
	// MaxPages is how many pages may be open at once; one call more is busy.
	// MaxBrowsers is how many browsers may run, each of which serves one tenant
	// unless Isolation says otherwise; a call for one more is busy while all of
	// them are at work for others. One further browser may run while it
	// replaces another. If zero, both are worked out from the memory that the
	// machine or its control group offers; see [Browser.Capacity].
	MaxPages, MaxBrowsers int
	// QueueTimeout is how long a call may wait for a page, within CallTimeout;
	// at most MaxPages calls wait. If zero, what cannot be had at once is busy.
	QueueTimeout time.Duration
	// Isolation says who may use a browser at the same time. If empty,
	// [IsolationTenant].
	Isolation Isolation
	// Quota bounds what each tenant uses; Quotas, by tenant, takes its place.
	Quota  Quota
	Quotas map[string]Quota

	// A browser is replaced after RecyclePages reads and sessions, after
	// RecycleAge, and when it uses more than RecycleMemory bytes: the next one
	// is there before it goes.
	RecyclePages  int
	RecycleAge    time.Duration
	RecycleMemory int64

	// IgnoreRobots reads pages that a site's robots.txt asks programs not to
	// read. Sessions, in which somebody acts, never ask for that file.
	IgnoreRobots bool
	// HostRate is how many reads of one host a tenant has in a minute, a
	// quarter of them at once; one more is busy. If zero, 120; a negative number
	// is no limit. A site's own Retry-After is honoured in any case.
	HostRate int

	// MemoryLimit is the most bytes that a browser with all its processes may
	// use; one that uses more is ended, and its calls with it. If zero, 1 GiB
	// and 512 MiB more for each of MaxPages, but at most three quarters of what
	// the machine or its control group has. It holds where the browser is sealed
	// at level kernel or landlock.
	MemoryLimit int64

	// UserAgent replaces the honest default, if not empty.
	UserAgent string
	// Logger gets what an operator should know. If nil, nothing is logged.
	Logger *slog.Logger
	// OnConnection, if not nil, is called for every decision of the proxy and
	// for every close, from many goroutines. It must not block.
	OnConnection func(egress.Event)
	// OnSpan, if not nil, is called when a part of a call has ended, with the
	// caller's context (its values, that is: it may have ended), so that a bridge
	// to OpenTelemetry finds the span that the call is part of. It may be called
	// from several goroutines and must not block. If nil, nothing is timed.
	OnSpan func(context.Context, Span)

	// UnsafeBrowserFlags are appended to Chromium's command line. They can
	// open any seal; they exist for tests (a test authority to trust).
	UnsafeBrowserFlags []string
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Engine == "" {
		o.Engine = EngineBrowser
	}
	if o.Seal == "" {
		o.Seal = SealAuto
	}
	if o.Mode == "" {
		o.Mode = policy.ModePublic
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = DefaultCallTimeout
	}
	if o.NavigationTimeout == 0 {
		o.NavigationTimeout = min(DefaultNavigationTimeout, o.CallTimeout*3/5)
	}
	if o.TextLimit == 0 {
		o.TextLimit = DefaultTextLimit
	}
	if o.CacheTTL == 0 {
		o.CacheTTL = DefaultCacheTTL
	}
	if o.MaxPageBytes == 0 {
		o.MaxPageBytes = DefaultMaxPageBytes
	}
	if o.Isolation == "" {
		o.Isolation = IsolationTenant
	}
	if o.RecyclePages == 0 {
		o.RecyclePages = DefaultRecyclePages
	}
	if o.RecycleAge == 0 {
		o.RecycleAge = DefaultRecycleAge
	}
	if o.RecycleMemory == 0 {
		o.RecycleMemory = DefaultRecycleMemory
	}
	if o.HostRate == 0 {
		o.HostRate = DefaultHostRate
	}
	return o // what depends on the machine is planned later
}

// compiled is what New makes of Options.
type compiled struct {
	rules   *policy.Rules
	trust   *chrome.Trust   // nil without CAFile
	roots   *x509.CertPool  // nil without CAFile
	gateway *egress.Gateway // these two come from Upstream; one is nil, or both
	foreign *egress.Foreign
}

// compile checks all options. Its error joins all that is wrong.
func (o Options) compile(ctx context.Context) (compiled, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch o.Mode {
	case policy.ModeDeny, policy.ModeAllowlist, policy.ModePublic:
	default:
		bad("Mode %q is none of deny, allowlist, public", o.Mode)
	}
	if o.CallTimeout < time.Second || o.CallTimeout > 10*time.Minute {
		bad("CallTimeout %v is not between 1s and 10m", o.CallTimeout)
	}
	if o.NavigationTimeout <= 0 || o.NavigationTimeout >= o.CallTimeout {
		bad("NavigationTimeout %v must be positive and below CallTimeout %v", o.NavigationTimeout, o.CallTimeout)
	}
	if o.TextLimit < 100 || o.TextLimit > 1_000_000 {
		bad("TextLimit %d is not between 100 and 1,000,000 characters", o.TextLimit)
	}
	if o.CacheTTL > time.Hour {
		bad("CacheTTL %v is above 1h", o.CacheTTL)
	}
	if o.MaxPageBytes < 1<<10 {
		bad("MaxPageBytes %d is below 1 KiB", o.MaxPageBytes)
	}
	errs = append(errs, o.checkPool()...)
	for _, err := range []error{o.checkEngine(), o.checkSeal()} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	var made compiled
	var err error
	if made.trust, err = o.trust(ctx); err == nil {
		made.roots, err = o.roots()
	}
	if err != nil {
		bad("CAFile: %w", err)
	}
	if made.gateway, made.foreign, err = o.Upstream.Open(ctx); err != nil {
		for _, what := range parts(err) {
			bad("Upstream: %s", strings.TrimPrefix(strings.TrimPrefix(what.Error(), "egress: "), "upstream: "))
		}
	}
	if o.Observe && o.Mode != policy.ModeAllowlist {
		bad("Observe needs Mode allowlist: in any other no list is lacking")
	}
	made.rules, err = policy.Compile(policy.Config{
		Observe: o.Observe, Mode: o.Mode, Allow: o.Allow, Resources: o.Resources,
		AllowInsecureHTTP: !o.RequireHTTPS,
		UnsafeAllow:       o.UnsafeAllow, AllowedPrivateCIDRs: o.AllowedPrivateCIDRs,
	})
	return made, errors.Join(append(errs, err)...)
}

// minMemoryLimit is what no browser runs with less than.
const minMemoryLimit = 256 << 20

// checkPool checks what concerns many calls at once.
func (o Options) checkPool() (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.MaxPages < 1 || o.MaxPages > 256 {
		bad("MaxPages %d is not between 1 and 256", o.MaxPages)
	}
	if o.MaxBrowsers < 1 || o.MaxBrowsers > 64 {
		bad("MaxBrowsers %d is not between 1 and 64", o.MaxBrowsers)
	}
	if o.QueueTimeout < 0 || o.QueueTimeout >= o.CallTimeout {
		bad("QueueTimeout %v must be below CallTimeout %v, and not negative", o.QueueTimeout, o.CallTimeout)
	}
	if o.Isolation != IsolationTenant && o.Isolation != IsolationShared {
		bad("Isolation %q is none of tenant, shared", o.Isolation)
	}
	if err := o.Quota.check(); err != nil {
		bad("Quota %w", err)
	}
	for tenant, q := range o.Quotas {
		if err := q.check(); err != nil {
			bad("Quotas of %q: %w", tenant, err)
		}
	}
	if o.RecyclePages < 1 || o.RecycleAge < time.Minute || o.RecycleMemory < minMemoryLimit {
		bad("RecyclePages must be at least 1, RecycleAge 1m, RecycleMemory 256 MiB")
	}
	if o.MemoryLimit < minMemoryLimit {
		bad("MemoryLimit %d is below 256 MiB", o.MemoryLimit)
	}
	return errs
}

// parts returns the parts of a joined error.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

func (o Options) trust(ctx context.Context) (*chrome.Trust, error) {
	if o.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, err
	}
	t, err := chrome.NewTrust(ctx, pem)
	if err != nil && o.Engine == EngineHTTP { // only sessions have a browser, and theirs will trust nobody else
		return nil, nil
	}
	return t, err
}
