package bellglass

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/plain"
	"github.com/bellglass/bellglass/internal/robots"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// manners is how sites are treated that are read: what their robots.txt says,
// how often they are asked, and how long they want to be left alone. Each
// tenant's are its own, so that none learns from another's what was read.
type manners struct {
	robots robots.Cache

	mu    sync.Mutex
	hosts map[string]*host // by tenant and name
}

type host struct {
	rate *rate.Limiter
	free time.Time // not to be asked before
	used time.Time
}

// Bounds of what is remembered.
const (
	maxHosts = 10_000
	maxHold  = time.Hour // a longer Retry-After is cut: the caller asks again
)

// host returns what is known of a host, and makes room for a new one at the
// expense of those that were asked longest ago. The caller holds m.mu.
func (m *manners) host(tenant, name string, perMinute int, now time.Time) *host {
	key := tenant + "\x00" + name
	h := m.hosts[key]
	if h == nil {
		if m.hosts == nil {
			m.hosts = map[string]*host{}
		}
		for k, old := range m.hosts {
			if len(m.hosts) < maxHosts {
				break
			}
			if now.Sub(old.used) > time.Minute && now.After(old.free) {
				delete(m.hosts, k)
			}
		}
		h = &host{rate: rate.NewLimiter(rate.Limit(float64(perMinute)/60), max(perMinute/4, 1))}
		if len(m.hosts) < maxHosts { // else it is not remembered
			m.hosts[key] = h
		}
	}
	h.used = now
	return h
}

// pace counts one read of a host; the error, an [*Error], is that it must wait.
func (m *manners) pace(tenant, name string, perMinute int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	h := m.host(tenant, name, max(perMinute, 1), now)
	if wait := h.free.Sub(now); wait > 0 {
		return busy(wait)
	}
	if perMinute < 0 {
		return nil
	}
	r := h.rate.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return busy(wait)
	}
	return nil
}

// note remembers how long a site that answered wants to be left alone.
func (m *manners) note(tenant string, p *tab.Page) time.Duration {
	if p.Status != http.StatusTooManyRequests && p.Status != http.StatusServiceUnavailable {
		return 0
	}
	u, err := policy.ParseURL(shownURL(p.URL))
	if err != nil {
		return 0
	}
	return m.hold(tenant, u.Host.String(), p.RetryAfter)
}

func (m *manners) hold(tenant, name, retryAfter string) time.Duration {
	now := time.Now()
	wait := min(parseRetryAfter(retryAfter, now), maxHold)
	if wait <= 0 {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.host(tenant, name, DefaultHostRate, now).free = now.Add(wait)
	return wait
}

// parseRetryAfter is RFC 9110 section 10.2.3; zero for what is neither a number
// of seconds nor a date.
func parseRetryAfter(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return time.Duration(min(n, int(maxHold/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return t.Sub(now)
	}
	return 0
}

// busy says that a site is to be left alone for a while.
func busy(wait time.Duration) error {
	e := reasonError("browse", ReasonRateLimited, "", nil)
	e.RetryAfter = max(wait.Round(time.Millisecond), time.Millisecond)
	return e
}

// --- robots.txt ------------------------------------------------------------------

// How long answers are kept if the response does not say, and how long it may
// take to get one.
const (
	robotsKeep    = time.Hour
	robotsOutage  = time.Minute
	robotsTimeout = 10 * time.Second
)

// permit asks whether the site's robots.txt lets the page be read. What is
// known already is answered at once; else wait answers once it is, and the
// caller gets a page ready in the meantime.
func (b *Browser) permit(ctx context.Context, u *policy.URL, tenant string, run *egress.Run) (wait func(context.Context) error, err error) {
	if b.o.IgnoreRobots {
		return unasked, nil
	}
	if a, known := b.manners.robots.Peek(robotsKey(tenant, u)); known {
		return unasked, b.verdict(a, u)
	}
	done := make(chan struct{})
	var verdict error // set before done is closed
	b.calls.Go(func() {
		defer close(done)
		verdict = b.permitted(ctx, u, tenant, run)
	})
	return func(ctx context.Context) error {
		select {
		case <-done:
			return verdict
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, nil
}

func unasked(context.Context) error { return nil }

// permitted is permit for one who has nothing else to do.
func (b *Browser) permitted(ctx context.Context, u *policy.URL, tenant string, run *egress.Run) error {
	if b.o.IgnoreRobots {
		return nil
	}
	a, err := b.manners.robots.Get(ctx, robotsKey(tenant, u), func(ctx context.Context) (robots.Answer, error) {
		return b.askRobots(ctx, u, tenant, run)
	})
	if err != nil {
		return err
	}
	return b.verdict(a, u)
}

// permitHop is permitted for where a redirect or a script leads the browser's
// page, before that is asked for. What cannot be told here is left to what
// follows: the proxy, for a host that may not be reached, and the browser, for a
// certificate that only it can check.
func (b *Browser) permitHop(ctx context.Context, url, tenant string, run *egress.Run) error {
	u, err := policy.ParseURL(url)
	if err != nil || b.rules.CheckURL(u) != nil {
		return nil
	}
	if err = b.permitted(ctx, u, tenant, run); unverified(err) {
		return nil
	}
	return err
}

func robotsKey(tenant string, u *policy.URL) string {
	return tenant + "\x00" + u.Scheme + "://" + u.HostPort()
}

// verdict applies a site's answer to one page.
func (b *Browser) verdict(a robots.Answer, u *policy.URL) error {
	e := reasonError("browse", ReasonRobots, "", nil)
	if a.Unreachable() {
		e.Hint += fmt.Sprintf(" (It cannot be had: HTTP %d, which forbids everything; try again later.)", a.Status)
		return e
	}
	path := u.Path
	if u.Query != "" {
		path += "?" + u.Query
	}
	v := a.Rules.Check(robotsTokens(b.o.UserAgent), path)
	if v.Allowed {
		return nil
	}
	e.Hint += fmt.Sprintf(" (Line %d.)", v.Line)
	return e
}

// userAgentTokens are the product tokens in a User-Agent; those of browsers
// are in every one, and name nobody.
var (
	userAgentTokens = regexp.MustCompile(`[A-Za-z_-]+`)
	browserTokens   = regexp.MustCompile(`(?i)^(mozilla|compatible|applewebkit|khtml|like|gecko|chrome|headlesschrome|chromium|safari|version|mobile|x|linux|windows|macintosh|intel|mac|os|nt|win|wow|rv|http|https|www)$`)
)

// robotsTokens are the names under which a site may address us: our own, and
// those that the operator's User-Agent has before a slash.
func robotsTokens(userAgent string) []string {
	tokens := []string{"bellglass"}
	for _, at := range userAgentTokens.FindAllStringIndex(userAgent, 16) {
		name := userAgent[at[0]:at[1]]
		if at[1] < len(userAgent) && userAgent[at[1]] == '/' && !browserTokens.MatchString(name) {
			tokens = append(tokens, name)
		}
	}
	return tokens
}

// askRobots fetches an origin's robots.txt by way of the same proxy, run and
// rules. An error is that of the network, or that the site wants to be left
// alone.
func (b *Browser) askRobots(ctx context.Context, u *policy.URL, tenant string, run *egress.Run) (robots.Answer, error) {
	file, err := policy.ParseURL(u.Scheme + "://" + u.HostPort() + "/robots.txt")
	if err != nil {
		return robots.Answer{}, err
	}
	client, end := b.client(run)
	defer end.Close()
	resp, err := client.Fetch(ctx, plain.Request{
		URL: file, Timeout: min(robotsTimeout, b.o.NavigationTimeout), MaxBytes: robots.MaxBytes, Head: true,
		Check: b.checkHop, Accept: "text/plain,*/*;q=0.8",
	})
	if err != nil {
		return unavailable(err, file)
	}
	a := robots.Answer{Status: resp.Status, Keep: robotsKeep}
	switch {
	case resp.Status == http.StatusTooManyRequests:
		return a, busy(max(b.manners.hold(tenant, u.Host.String(), resp.Header.Get("Retry-After")), retryAfter))
	case resp.Partial || resp.TimedOut: // what is missing might forbid
		return a, &plain.Error{URL: resp.URL, Status: resp.Status, Err: plain.ErrConnection}
	case a.Unreachable():
		a.Keep = robotsOutage
	case resp.Status >= 200 && resp.Status < 300:
		a.Rules = robots.Parse(resp.Body)
		a.Keep = keepFor(resp.Header, robotsKeep)
	}
	return a, nil
}

// unverified reports that robots.txt was not had because of a certificate.
func unverified(err error) bool {
	var failed *plain.Error
	return errors.As(err, &failed) && errors.Is(err, plain.ErrTLS)
}

// robotsByBrowser has the browser ask for an origin's robots.txt, and returns
// the verdict on u. Where there was nothing to ask with, release is nil.
func (b *Browser) robotsByBrowser(ctx context.Context, u *policy.URL, tenant string, run *egress.Run) (release func(), err error) {
	release = func() {}
	a, err := b.manners.robots.Get(ctx, robotsKey(tenant, u), func(ctx context.Context) (robots.Answer, error) {
		page, free, err := b.attempt(ctx, tab.Request{URL: u.Scheme + "://" + u.HostPort() + "/robots.txt", Head: robots.MaxBytes}, tenant, run, unasked)
		if free == nil {
			release = nil
			return robots.Answer{}, err
		}
		free()
		a := robots.Answer{Keep: robotsKeep}
		switch {
		case err != nil && !errors.Is(err, tab.ErrEmpty):
			return a, err
		case page.Partial || page.TimedOut:
			return a, tab.ErrTimeout
		}
		if a.Status = page.Status; a.Status == http.StatusTooManyRequests {
			return a, busy(max(b.manners.hold(tenant, u.Host.String(), page.RetryAfter), retryAfter))
		}
		if a.Unreachable() {
			a.Keep = robotsOutage
		}
		if page.Body != nil && page.Status >= 200 && page.Status < 300 {
			a.Rules = robots.Parse(page.Body.Bytes)
		}
		return a, nil
	})
	if err != nil {
		return release, err
	}
	return release, b.verdict(a, u)
}

// unavailable tells a file that cannot be had, which allows everything (RFC
// 9309 section 2.3.1.3), from a network that fails. A redirect to where nobody
// may go is the former: the site has only said where its file is not.
func unavailable(err error, file *policy.URL) (robots.Answer, error) {
	var (
		failed *plain.Error
		answer *plain.Answer
	)
	if !errors.As(err, &failed) {
		return robots.Answer{}, err
	}
	elsewhere := failed.URL.HostPort() != file.HostPort()
	if failed.Refused || errors.Is(err, plain.ErrTooManyRedirects) || errors.Is(err, plain.ErrCoding) ||
		elsewhere && errors.As(err, &answer) && StatusOf(Reason(answer.Reason)) == StatusRejected {
		return robots.Answer{Status: http.StatusNotFound, Keep: robotsKeep}, nil
	}
	return robots.Answer{}, err
}

// keepFor is how long a response may be kept, by its own word, between five
// minutes and a day.
func keepFor(h http.Header, standard time.Duration) time.Duration {
	for d := range strings.SplitSeq(strings.ToLower(h.Get("Cache-Control")), ",") {
		if s, ok := strings.CutPrefix(strings.TrimSpace(d), "max-age="); ok {
			if n, err := strconv.Atoi(s); err == nil && n >= 0 {
				return min(max(time.Duration(min(n, 86400))*time.Second, 5*time.Minute), 24*time.Hour)
			}
		}
	}
	return standard
}
