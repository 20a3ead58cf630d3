package bellglass

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strings"
	"unicode/utf8"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/look"
	"github.com/bellglass/bellglass/internal/pool"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// begin waits for the call before, and gives this one a context that ends with
// the caller's, the session, the Browser and the deadline.
func (s *Session) begin(ctx context.Context, op string) (context.Context, func(), error) {
	if s.life.Err() != nil {
		return nil, nil, unknownSession(op)
	}
	ctx = s.b.timed(ctx, op)
	whole := s.b.span(ctx, SpanCall)
	acquired := s.b.span(ctx, SpanAcquire)
	ctx, leave, err := s.b.enter(ctx)
	if errors.Is(err, pool.ErrDraining) {
		return nil, nil, explain(op, err, nil)
	}
	if err != nil {
		return nil, nil, unknownSession(op)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(errSessionOver) })
	end := func() {
		stop()
		cancel(nil)
		leave()
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		defer end()
		if s.life.Err() != nil {
			return nil, nil, unknownSession(op)
		}
		return nil, nil, explain(op, context.Cause(ctx), nil)
	}
	if s.life.Err() != nil {
		<-s.turn
		end()
		return nil, nil, unknownSession(op)
	}
	s.idle.Stop()
	acquired()
	return ctx, func() {
		whole()
		if s.life.Err() == nil {
			s.idle.Reset(s.o.IdleTimeout)
		}
		if ctx.Err() != nil { // nobody waits for what the pages still load
			s.live.Stop()
		}
		s.moved = s.b.charge(s.run, s.who.Tenant, s.moved)
		<-s.turn
		end()
	}, nil
}

// check judges a URL by the rules of where the session may go.
func (s *Session) check(raw string) error {
	u, err := policy.ParseURL(raw)
	if err != nil {
		return err
	}
	return s.rules.reach.CheckURL(u)
}

// checkPlace is check for where a page is already: one that has written more
// into its address than may be asked for is judged by its host.
func (s *Session) checkPlace(raw string) error { return s.check(place(raw)) }

// place is a URL as the browser writes it, or, of one that is longer than what
// may be asked for, where its host ends.
func place(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || utf8.RuneCountInString(raw) <= policy.MaxURLLength {
		return raw
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/"
}

// mayActOn judges whether what is in a frame may be acted on.
func (s *Session) mayActOn(frame string) error { return s.mayAct(place(s.live.FrameURL(frame))) }

// mayAct judges whether the host of a URL may be acted on.
func (s *Session) mayAct(raw string) error {
	if s.rules.act == nil {
		return s.check(raw)
	}
	u, err := policy.ParseURL(raw)
	if err != nil {
		return err
	}
	if err := s.rules.act.CheckURL(u); err != nil {
		return &policy.Refusal{Reason: ReasonAct, What: u.Host.String()}
	}
	return nil
}

// maySend judges a document before it is requested.
func (s *Session) maySend(method, url string, form bool) error {
	if err := s.check(url); err != nil {
		return err
	}
	if err := s.rules.guard.URL(url); err != nil {
		return err
	}
	if form || method != "GET" && method != "HEAD" {
		return s.mayAct(url)
	}
	return nil
}

// maySendFrame judges the document of a frame before it is requested. Where
// frames may come from, the proxy decides; what is sent from one is an act.
func (s *Session) maySendFrame(method, url string, form bool) error {
	if form || method != "GET" && method != "HEAD" {
		return s.maySend(method, url, true)
	}
	return s.rules.guard.URL(url)
}

// lookText is how much text a look brings: guardrails see more of it than is
// shown, so that none is cut in the middle of what they are to find, and
// changes beyond the first part are noticed.
const lookText = 6000

// glance looks at the page shown and numbers what is there. The page is
// guarded: what an operator denies is not in it.
func (s *Session) glance(ctx context.Context) (*sight, error) {
	state, err := s.live.State()
	if err != nil {
		return nil, err
	}
	if state.URL == "" || state.URL == "about:blank" {
		state.URL = "about:blank"
	} else if err := s.checkPlace(state.URL); err != nil {
		return nil, err
	}
	f, err := s.live.Glance(ctx, look.Options{Text: lookText})
	if err != nil {
		return nil, err
	}
	guarded := s.b.span(ctx, SpanGuard)
	err = s.guardFrame(f)
	guarded()
	if err != nil {
		return nil, err
	}
	defer s.b.span(ctx, SpanRender)()
	p := s.table.Update(f)
	p.HTTPStatus = state.Status
	p.URL = s.shown(state.URL)
	if p.URL, err = s.rules.guard.Output(p.URL); err != nil {
		return nil, err
	}
	if n := s.live.Shown(); n > 1 || len(s.live.Pages()) > 1 {
		var others []string
		for _, o := range s.live.Pages() {
			if o.Number != n {
				others = append(others, fmt.Sprintf("page %d %s", o.Number, s.shown(o.URL)))
			}
		}
		what := fmt.Sprintf("page %d", n)
		if len(others) > 0 {
			what += "; also open: " + strings.Join(others, ", ")
		}
		p.More = append(p.More, digest.Field{Key: "shown", Value: what})
	}
	return &sight{p, places(f, image.Point{}, map[string]image.Point{})}, nil
}

// shown is a URL as the session's results show it.
func (s *Session) shown(raw string) string {
	if s.o.FullURLs {
		frag := ""
		if i := strings.IndexByte(raw, '#'); i >= 0 && strings.HasPrefix(raw, "http") {
			frag = extract.Line(raw[i:], maxURL)
		}
		return shownURL(raw) + frag
	}
	u := shownURL(raw)
	if i := strings.IndexByte(u, '?'); i >= 0 {
		u = u[:i]
	}
	// A fragment tells where in the page one is, and where in many an
	// application; what looks like a query in it goes.
	if _, frag, ok := strings.Cut(raw, "#"); ok && strings.HasPrefix(u, "http") {
		if i := strings.IndexAny(frag, "?&="); i >= 0 {
			frag = frag[:i]
		}
		if frag = extract.Line(frag, 100); frag != "" {
			u += "#" + frag
		}
	}
	return u
}

// guardFrame applies the operator's patterns to everything a frame shows.
func (s *Session) guardFrame(f *digest.Frame) error {
	if s.rules.guard.Quiet() {
		return nil
	}
	var err error
	clean := func(p *string) {
		if err == nil {
			*p, err = s.rules.guard.Output(*p)
		}
	}
	clean(&f.Title)
	text := strings.Join(f.Lines, "\n")
	if clean(&text); err == nil && text != "" {
		f.Lines = strings.Split(text, "\n")
	}
	for i := range f.Elements {
		if err = s.guardElement(&f.Elements[i]); err != nil {
			return err
		}
	}
	for _, p := range f.Places {
		if p.Child != nil && err == nil {
			err = s.guardFrame(p.Child)
		}
	}
	return err
}

func (s *Session) guardElement(e *digest.Element) error {
	if s.rules.guard.Quiet() {
		return nil
	}
	for _, p := range []*string{&e.Name, &e.Value, &e.Row, &e.Group, &e.Min, &e.Max} {
		out, err := s.rules.guard.Output(*p)
		if err != nil {
			return err
		}
		*p = out
	}
	if out, err := s.rules.guard.Output(e.Href); err != nil {
		return err
	} else if out != e.Href {
		e.Href = ""
	}
	for i := range e.Options {
		out, err := s.rules.guard.Output(e.Options[i].Text)
		if err != nil {
			return err
		}
		e.Options[i].Text = out
	}
	return nil
}

// view looks at the page and makes the answer of a call of it. before is the
// page before the call, nil if nothing was done; lead names what was done.
func (s *Session) view(ctx context.Context, op string, before *sight, lead string) View {
	p, err := s.glance(ctx)
	if err != nil {
		return s.failed(ctx, op, err)
	}
	v := s.viewOf(p.Page)
	v.Status = StatusOK
	if before != nil {
		what, changed := effect(before.Page, p.Page)
		v.Effect, v.changed, v.since = lead+what, changed, before.Page
	}
	s.last = p
	return v
}

// viewOf is an answer that shows p.
func (s *Session) viewOf(p *digest.Page) View {
	v := View{Session: s.id, Page: p}
	p.Events = s.events()
	v.FinalURL, v.HTTPStatus, v.Title = p.URL, p.HTTPStatus, extract.Line(p.Title, maxTitle)
	v.HiddenChars, v.HiddenBlocks, v.Rendered = p.HiddenChars, p.HiddenBlocks, true
	v.Blocked = blocked(s.run, nil)
	v.part.KeepQuery = s.o.FullURLs
	return v
}

// failed is the answer of a call that came to nothing. Nothing of a page is
// shown that may not be.
func (s *Session) failed(ctx context.Context, op string, err error) View {
	if life := s.life.Err(); life != nil {
		err = unknownSession(op)
	}
	after := ""
	if errors.Is(err, tab.ErrUnresponsive) || errors.Is(err, errAction) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		after = s.wedged(ctx)
	}
	e := explain(op, deadlineFirst(ctx, err), s.run)
	v := View{Session: s.id}
	v.Status, v.Reason, v.Hint, v.Err, v.RetryAfter = e.Status, e.Reason, e.Hint, e, e.RetryAfter
	if after != "" || e.Reason == ReasonBrowserCrashed {
		s.lose(&v, after)
	}
	if e.Status == StatusError {
		s.b.log.Info("call failed", "op", op, "tenant", s.who.Tenant, "run", s.who.Run, "reason", e.Reason, "error", e.Err)
	}
	return v
}

// refused is the answer of a call that was not carried out, with the page as it
// is now.
func (s *Session) refused(ctx context.Context, op string, err error) View {
	v := s.failed(ctx, op, err)
	if ctx.Err() != nil || s.life.Err() != nil {
		return v
	}
	p, lost := s.glance(ctx)
	if lost != nil {
		return v
	}
	w := s.viewOf(p.Page)
	w.Status, w.Reason, w.Hint, w.Err, w.RetryAfter = v.Status, v.Reason, v.Hint, v.Err, v.RetryAfter
	s.last = p
	return w
}

// wedged ends the process of a page that does not respond, so that the session
// can go on. It returns what is to be said of that, "" if the page responds.
func (s *Session) wedged(ctx context.Context) string {
	ctx = context.WithoutCancel(ctx)
	if s.live.Alive(ctx) == nil {
		return ""
	}
	if err := s.live.Kill(ctx); err != nil {
		s.b.log.Warn("a page that does not respond could not be ended", "error", err)
		return "over"
	}
	return "The page was ended; browser_navigate opens another in this session."
}

// lose says whether the session survives the end of its page, and shows what
// was seen last, marked so.
func (s *Session) lose(v *View, after string) {
	if after == "" {
		after = "browser_navigate opens another page in this session."
	}
	if after == "over" || s.held.dead() {
		after = "The session has ended with it; browser_navigate opens a new one."
		go s.end("its browser is gone")
	}
	v.Hint += " " + after
	if s.last != nil && v.Page == nil {
		p := *s.last.Page
		v.Page, v.Old = &p, true
		v.FinalURL = p.URL
		p.Events = nil
	}
}
