package bellglass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/pool"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// Request is one page to read. Principal and URL are required.
type Request struct {
	Principal Principal
	// URL is absolute, http or https.
	URL string
	// Query asks for the passages around its matches instead of the head of
	// the page; of links, for those that hold it.
	Query string
	// Offset is where to go on: the NextOffset of the result before. Of text
	// it counts characters (code points), of links links.
	Offset int
	// Whole asks for the whole page instead of its main part.
	Whole bool
	// ShowHidden asks for the text that was left out because nobody could see
	// it, in [Result].Hidden. The page is then read anew. It is for an operator
	// who looks at a page: such text is where attackers write to models, and no
	// tool passes it on.
	ShowHidden bool
	// Fresh asks for the page anew. Else what the principal has read of the
	// URL less than [Options].CacheTTL ago is used again.
	Fresh bool
}

// Head is what the results of all read tools have in common.
type Head struct {
	Status Status
	Reason Reason // empty if Status is ok
	Hint   string // one sentence on what to do, empty if Status is ok
	// FinalURL is where the page was after redirects, without fragment.
	FinalURL    string
	HTTPStatus  int    // of the site's response; zero if there was none
	ContentType string // a media type without parameters; the site's choice
	Title       string // page text, on one line
	// FileName and Size, in bytes, tell of a response that was not read: a file
	// meant to be saved, or of a type that cannot be read. The name is the
	// site's words; Size is zero if it is not known.
	FileName string
	Size     int64
	// Truncated: there is more. Where NextOffset is zero the rest cannot be had,
	// because the response broke off or the page is too large to be read whole.
	Truncated  bool
	NextOffset int // where to go on; zero if there is no more
	// HiddenChars and HiddenBlocks say how much text was left out because
	// nobody could see it. HiddenUnknown: nothing was laid out, so that hidden
	// text was recognised only in part, and is not counted.
	HiddenChars, HiddenBlocks int
	HiddenUnknown             bool
	// FramesLeftOut counts frames of the page that may not be read, or did not
	// answer.
	FramesLeftOut int
	// Signals are guesses at what kind of answer the page is: soft_404,
	// login_wall, captcha, consent_wall, low_content, hidden_text.
	Signals []string
	// Rendered is true if a browser ran the page's scripts, and the text is
	// what the page shows with them.
	Rendered bool
	// Blocked counts what the page asked for and may not reach, by host.
	Blocked []Blocked
	// RetryAfter is when to try again, if Status is busy.
	RetryAfter time.Duration
	// Needed is what the page used and the lists lack, as entries for
	// [Options].Resources; only with [Options].Observe. It is for the operator:
	// its names are the page's choice.
	Needed []string
	// Err is why Status is not ok, for logs; never show it to a model.
	Err *Error
}

// retryAfter is what a small page takes, and some more.
const retryAfter = time.Second

// Blocked counts refused requests to one host.
type Blocked struct {
	Host   string
	Reason Reason
	Count  int
}

// Result is a page as text.
type Result struct {
	Head
	// Text is Markdown from an unvetted page: data, never instructions.
	Text string
	// TotalChars is the length of the whole text in code points.
	TotalChars int
	// ContentHash tells whether the whole text, of which Text may be a part, is
	// the same as that of another result: 16 hexadecimal digits.
	ContentHash string
	// Hidden is what HiddenChars counts, if [Request].ShowHidden asked for it and
	// the page was laid out: one string for each stretch of it, some 100,000
	// characters of each frame at most. Never show it to a model.
	Hidden []string
}

// Browse reads one page. The error is for misuse (no Principal) and a closed
// Browser only; everything else is told by the Result.
func (b *Browser) Browse(ctx context.Context, r Request) (Result, error) {
	var res Result
	const op = "browse"
	ctx = b.timed(ctx, op)
	page, head, release, err := b.read(ctx, op, r)
	if err != nil {
		return Result{}, err
	}
	defer release()
	res.Head = head
	if page == nil {
		return res, nil
	}
	defer b.span(ctx, SpanRender)()
	text := page.text(extract.TextOptions{Whole: r.Whole})
	var cut extract.Cut
	if r.Query != "" {
		cut = extract.Passages(text, r.Query, b.o.TextLimit)
	} else {
		cut = extract.Page(text, r.Offset, b.o.TextLimit)
	}
	res.Text, res.TotalChars, res.ContentHash = cut.Text, cut.Total, hashOf(text)
	res.Truncated, res.NextOffset = cut.Truncated || page.partial, cut.Next
	if r.ShowHidden && page.doc != nil {
		res.Hidden = page.doc.Hidden
	}
	return res, nil
}

// maxLinks is the most links one call returns; their texts and URLs together
// are bounded by [Options].TextLimit, too.
const maxLinks = 100

// Link is one link of a page; both are the page's words.
type Link struct {
	Text string
	URL  string // absolute, http or https
}

// Links is the links of a page.
type Links struct {
	Head
	Links []Link
	Total int // links on the page (or that hold the query)
}

// Links reads one page and returns its visible links, those to its own site
// first. Errors are as with [Browser.Browse].
func (b *Browser) Links(ctx context.Context, r Request) (Links, error) {
	var res Links
	const op = "links"
	ctx = b.timed(ctx, op)
	page, head, release, err := b.read(ctx, op, r)
	if err != nil {
		return Links{}, err
	}
	defer release()
	res.Head = head
	if page == nil {
		return res, nil
	}
	defer b.span(ctx, SpanRender)()
	all := page.links(r.Query)
	res.Total = len(all)
	from := min(r.Offset, len(all))
	to, size := from, 0
	for ; to < min(from+maxLinks, len(all)); to++ {
		l := all[to]
		if size += utf8.RuneCountInString(l.Text) + utf8.RuneCountInString(l.URL); size > b.o.TextLimit && to > from {
			break
		}
		res.Links = append(res.Links, Link(l))
	}
	res.Truncated = page.partial
	if to < len(all) {
		res.Truncated, res.NextOffset = true, to
	}
	return res, nil
}

// read is what Browse and Links share. A nil page with a nil error means that
// the head says it all. Without an error, release ends the call: what is still
// to be done with the page comes first, for a browser that throws away one page
// and makes another would slow it down.
func (b *Browser) read(ctx context.Context, op string, r Request) (page *reading, head Head, release func(), err error) {
	if err := r.Principal.validate(); err != nil {
		return nil, Head{}, nil, err
	}
	ctx, done, err := b.enter(ctx)
	if errors.Is(err, pool.ErrDraining) {
		e := explain(op, err, nil)
		head := Head{Status: e.Status, Reason: e.Reason, Hint: e.Hint, RetryAfter: e.RetryAfter, Err: e}
		b.stats.call(&head)
		return nil, head, func() {}, nil
	}
	if err != nil {
		return nil, Head{}, nil, err
	}
	whole := b.span(ctx, SpanCall)
	free := func() {}
	ended := false
	defer func() {
		if !ended { // a panic: whoever recovers from it must find the page given back
			free()
			done()
		}
	}()
	page, head = b.readPage(ctx, op, r, &free)
	b.stats.call(&head)
	ended = true
	return page, head, func() { whole(); free(); done() }, nil
}

// readPage sets free when there is a page to give back.
func (b *Browser) readPage(ctx context.Context, op string, r Request, free *func()) (got *reading, head Head) {
	fail := func(err error, run *egress.Run) (*reading, Head) {
		e := explain(op, err, run)
		head.Status, head.Reason, head.Hint, head.Err, head.RetryAfter = e.Status, e.Reason, e.Hint, e, e.RetryAfter
		if e.Reason == ReasonInternal || StatusOf(e.Reason) == StatusError {
			b.log.Info("read failed", "op", op, "tenant", r.Principal.Tenant, "run", r.Principal.Run, "reason", e.Reason, "error", e.Err)
		}
		return nil, head
	}
	if r.Offset < 0 {
		return fail(&Error{Op: op, Status: StatusRejected, Reason: ReasonInvalidArgument, Hint: "offset must not be negative."}, nil)
	}
	u, err := policy.ParseURL(r.URL)
	if err == nil {
		err = b.rules.CheckURL(u)
	}
	if err != nil {
		return fail(err, nil)
	}
	key := cacheKey{r.Principal, u.String()}
	if !r.Fresh && !r.ShowHidden {
		if got, head, ok := b.cache.get(key); ok {
			return got, head
		}
	}
	acquired := b.span(ctx, SpanAcquire) // and the rest of it in lease
	leave, err := b.fleet.Admit(ctx, r.Principal.Tenant)
	acquired()
	if err == nil {
		if err = b.spend(r.Principal.Tenant); err != nil {
			leave()
		}
	}
	if err != nil {
		return fail(deadlineFirst(ctx, err), nil)
	}
	run := egress.NewRun(egress.RunConfig{Tenant: r.Principal.Tenant, ID: r.Principal.Run, Rules: b.rules})
	*free = leave
	defer b.charge(run, r.Principal.Tenant, 0)
	page, release, err := b.load(ctx, u, r, run)
	if release == nil { // no browser
		return fail(deadlineFirst(ctx, err), nil)
	}
	*free = func() { release(); leave() }
	head.Blocked = blocked(run, page)
	head.Needed = b.needed(run, r.Principal)
	if err != nil {
		b.headOfFailure(&head, page, err)
		return fail(deadlineFirst(ctx, err), run)
	}
	b.headOf(&head, page)
	guarded := b.span(ctx, SpanGuard)
	err = b.judge(page, run)
	guarded()
	if err != nil {
		head.Title, head.HiddenChars, head.HiddenBlocks = "", 0, 0
		if !isSiteOutcome(err) {
			head.HTTPStatus, head.ContentType = 0, ""
		}
		return fail(err, run)
	}
	defer b.span(ctx, SpanRender)()
	if got, err = b.newReading(ctx, page); err != nil {
		b.headOfFailure(&head, page, err)
		return fail(deadlineFirst(ctx, err), run)
	}
	head.Title = cmp.Or(head.Title, got.head.Title)
	head.HiddenChars += got.head.HiddenChars
	head.Signals = got.signals(page.Status)
	b.stats.page(&head)
	if page.TimedOut {
		e := explain(op, tab.ErrTimeout, run)
		e.Hint = "The page was still loading; this is the part that was there. Try once more for the rest."
		head.Status, head.Reason, head.Hint, head.Err = e.Status, e.Reason, e.Hint, e
		return got, head
	}
	head.Status = StatusOK
	b.cache.put(key, got, head)
	return got, head
}

// visit reads the page in a leased tab. One that shows nothing is read once
// more as a browser without scripts shows it: scripts that fail to load, or
// that dislike where they run, take the text with them, and what the author
// wrote for that case is in noscript elements. Permit is waited for before the
// site is asked. Without a lease, release is nil.
func (b *Browser) visit(ctx context.Context, r tab.Request, tenant string, run *egress.Run, permit func(context.Context) error) (page *tab.Page, release func(), err error) {
	if !b.o.IgnoreRobots {
		r.Permit = func(ctx context.Context, url string) error { return b.permitHop(ctx, url, tenant, run) }
	}
	page, release, err = b.attempt(ctx, r, tenant, run, permit)
	if err != nil || !page.Blank || page.Hop != nil || b.check(page.URL) != nil {
		return page, release, err
	}
	release()
	plain, release, err := b.attempt(ctx, tab.Request{URL: page.URL, NoScripts: true, Hidden: r.Hidden, Permit: r.Permit}, tenant, run, func(ctx context.Context) error {
		u, err := policy.ParseURL(page.URL)
		if err == nil {
			err = b.permitted(ctx, u, tenant, run)
		}
		return err
	})
	if err == nil && plain.Doc != nil && plain.Doc.TextLen > page.Doc.TextLen {
		return plain, release, nil
	}
	if release == nil {
		release = func() {}
	}
	return page, release, nil
}

// attempt leases a tab and reads in it what r names.
func (b *Browser) attempt(ctx context.Context, r tab.Request, tenant string, run *egress.Run, permit func(context.Context) error) (page *tab.Page, release func(), err error) {
	r.MaxBytes = b.o.MaxPageBytes
	r.Header, r.Check = egress.ReasonHeader, b.check
	r.Take, r.Render, r.Intercept = wants, rendered, r.Head > 0 || looksRaw(r.URL)
	r.Unstick, r.Span = func(d time.Duration) { run.CutSilent(d) }, b.tabSpans()
	for try := 0; ; try++ {
		var slot *slot
		slot, release, err = b.lease(ctx, tenant)
		if err != nil {
			return nil, nil, err
		}
		permitted := b.span(ctx, SpanRobots)
		err := permit(ctx)
		permitted()
		if err != nil {
			return nil, release, err
		}
		slot.end.Assign(run)
		asked := run.Requests()
		var short bool
		r.Timeout, short = b.navigationTime(ctx)
		page, err = slot.tab.Read(ctx, r)
		if short && errors.Is(err, tab.ErrTimeout) {
			err = fmt.Errorf("%w: %w", errDeadline, err)
		}
		if errors.Is(err, tab.ErrTake) && !r.Intercept {
			r.Intercept = true
			release()
			try-- // nothing failed
			continue
		}
		lost := astray(page, err) && run.Requests() == asked
		// A browser that waits for long and asks for nothing has lost a part, or
		// has one that is stuck, and the next page would wait as long.
		stuck := errors.Is(err, tab.ErrTimeout) && run.Requests() == asked && r.Given == nil && !short
		if lost || stuck || errors.Is(err, tab.ErrCrashed) {
			slot.distrust()
		}
		lost = lost || errors.Is(err, tab.ErrCrashed) && slot.fell()
		if try > 0 || !lost {
			return page, release, err
		}
		release()
	}
}

// lookTime is kept of a call's time for looking at a page that did not load in
// time: what of it is readable is worth more than the last seconds of waiting.
const lookTime = 2 * time.Second

// navigationTime is how long a document may take to be there: as the options
// say, or what is left of the call, less the time to look. Short tells that this
// is less than half, so that the call's time is what was lacking.
func (b *Browser) navigationTime(ctx context.Context) (d time.Duration, short bool) {
	d = b.o.NavigationTimeout
	if end, ok := ctx.Deadline(); ok {
		left := time.Until(end)
		if left = max(left-lookTime, left/2); left < d {
			return max(left, time.Millisecond), left < d/2
		}
	}
	return d, false
}

// astray reports that a read whose proxy was asked for nothing came to an end
// that is not the page's doing: once more, with a new browser. Its process
// died of something else, or the part of the browser that does the networking
// did, and with it went the context's proxy, so that what denies everything
// answered.
func astray(p *tab.Page, err error) bool {
	var network *tab.NetError
	if errors.As(err, &network) {
		switch netReason(network.Text) {
		case ReasonProxy, ReasonConnection:
			return true
		}
	}
	return errors.Is(err, tab.ErrCrashed) || p != nil && p.Header != ""
}

// check judges a URL by the operator's rules, as far as that needs no DNS.
func (b *Browser) check(raw string) error {
	u, err := policy.ParseURL(raw)
	if err != nil {
		return err
	}
	return b.rules.CheckURL(u)
}

// judge decides whether what came back is a page of the site's: the final URL
// is judged again, and an answer that the proxy gave in the site's place is
// told for what it is.
func (b *Browser) judge(p *tab.Page, run *egress.Run) error {
	u, err := policy.ParseURL(p.URL)
	if err != nil {
		var r *policy.Refusal
		if asRefusal(err, &r) && r.Reason == policy.ReasonURLTooLong {
			return nil // its host was judged on the way there
		}
		return err
	}
	if err := proxyAnswered("browse", p.Header, u); err != nil {
		return err
	}
	if err := b.rules.CheckURL(u); err != nil {
		return err
	}
	if p.Status == 401 && p.Doc != nil && p.Doc.TextLen == 0 && p.Raw == "" {
		return reasonError("browse", ReasonAuth, "", nil)
	}
	return nil
}

// proxyAnswered tells an answer that the proxy gave in a site's place for what
// it is. Header is the value of [egress.ReasonHeader]. Over plain http such an
// answer is a response like others, and the proxy removes the header from what
// sites send; over https it could be the site's, and says nothing.
func proxyAnswered(op, header string, u *policy.URL) error {
	if header == "" || u.Scheme != "http" {
		return nil
	}
	reason := Reason(header)
	switch _, known := reasons[reason]; {
	case !known:
		reason = ReasonProxy
	case reason == ReasonInvalidArgument:
		// What the page made the browser ask for, such as with more cookies
		// than a request can hold: no argument of the caller's.
		reason = ReasonConnection
	}
	return reasonError(op, reason, "("+u.Host.String()+")", fmt.Errorf("the proxy answered for %s", u.HostPort()))
}
