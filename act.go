package bellglass

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// NavigateRequest opens a page, or goes back.
type NavigateRequest struct {
	// URL is absolute, http or https. It must be empty with Back.
	URL  string
	Back bool // to the page before
	// Wait is how much more of the page's time is to pass: up to 15 s.
	Wait time.Duration
}

// maxWait bounds [NavigateRequest.Wait].
const maxWait = 15 * time.Second

// errAction is why an act ran out of time.
var errAction = errors.New("bellglass: action timeout")

// Navigate opens a URL in the session's page. Whatever comes of it is told by
// the View.
func (s *Session) Navigate(ctx context.Context, r NavigateRequest) View {
	const op = "navigate"
	ctx, done, err := s.begin(ctx, op)
	if err != nil {
		return s.failed(ctx0(ctx), op, err)
	}
	defer done()
	if r.Back == (r.URL != "") || r.Wait < 0 || r.Wait > maxWait {
		return s.failed(ctx, op, reasonError(op, ReasonInvalidArgument, "Give either a URL or back, and a wait of at most 15 s.", nil))
	}
	s.live.AcceptDialogs(false)
	if r.Back {
		return s.navigated(ctx, op, r.Wait, func() (tab.State, error) { return s.live.Back(ctx) })
	}
	u, err := policy.ParseURL(r.URL)
	if err == nil {
		err = s.rules.reach.CheckURL(u)
	}
	if err == nil {
		err = s.rules.guard.URL(r.URL)
	}
	if err == nil {
		err = s.rules.guard.URL(u.String())
	}
	if err == nil {
		err = s.b.spend(s.who.Tenant)
	}
	if err != nil {
		return s.failed(ctx, op, err)
	}
	return s.navigated(ctx, op, r.Wait, func() (tab.State, error) {
		asked := s.run.Requests()
		state, err := s.live.Navigate(ctx, withFragment(u, r.URL))
		if s.run.Requests() == asked && lostNetwork(state, err) {
			s.held.spoil()
			err = tab.ErrCrashed
		}
		return state, err
	})
}

// ctx0 is for answers to calls that never began.
func ctx0(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// withFragment is the URL that was judged, with the fragment that was asked
// for.
func withFragment(u *policy.URL, raw string) string {
	s := u.String()
	if i := strings.IndexByte(raw, '#'); i >= 0 && !strings.Contains(s, "#") {
		return s + raw[i:]
	}
	return s
}

// navigated tells what came of a navigation.
func (s *Session) navigated(ctx context.Context, op string, wait time.Duration, start func() (tab.State, error)) View {
	state, err := start()
	if err == nil && state.Header != "" {
		err = s.answered(state)
	}
	if err != nil {
		v := s.failed(ctx, op, err)
		var refused *Error
		if v.Reason == ReasonDownload || v.Reason == ReasonInvalidArgument || errors.As(err, &refused) {
			v.Page = nil
		}
		if v.Status != StatusRejected || v.Reason == ReasonDownload {
			v.HTTPStatus, v.ContentType = state.Status, mediaType(state.ContentType)
			v.FinalURL = s.shown(state.URL)
			if content := (*tab.ContentError)(nil); errors.As(err, &content) { // no page: the one shown is another
				v.FinalURL, v.ContentType = s.shown(content.URL), mediaType(content.ContentType)
			}
		}
		v.noteEvents(s.events())
		return v
	}
	if !state.TimedOut {
		if err := s.live.Observed(ctx); err != nil {
			return s.failed(ctx, op, err)
		}
	}
	if wait > 0 {
		if err := s.live.Step(ctx, wait); err != nil {
			return s.failed(ctx, op, err)
		}
	}
	v := s.view(ctx, op, nil, "")
	if v.Status == StatusOK && state.TimedOut {
		e := explain(op, tab.ErrTimeout, s.run)
		v.Status, v.Reason, v.Hint, v.Err = e.Status, e.Reason, "The page was still loading; this is the part that was there. browser_state shows it again.", e
	}
	v.ContentType = mediaType(state.ContentType)
	return v
}

// lostNetwork reports that a navigation for which the session's proxy was asked
// for nothing was answered by the one that denies everything, or by none: the
// part of the browser that does the networking has died, and with it went the
// proxies of its contexts. See [astray], for reads.
func lostNetwork(state tab.State, err error) bool {
	var network *tab.NetError
	if errors.As(err, &network) {
		return netReason(network.Text) == ReasonProxy
	}
	return err == nil && state.Header != ""
}

// answered tells an answer that the proxy gave in a site's place.
func (s *Session) answered(state tab.State) error {
	u, err := policy.ParseURL(state.URL)
	if err != nil {
		return nil
	}
	return proxyAnswered("navigate", state.Header, u)
}

// StateRequest asks for the page as it is now. The zero value asks for the
// head of it.
type StateRequest struct {
	// MaxElements is the most elements that are listed. If zero, 100.
	MaxElements int
	// Offset is how many elements, in reading order, are left out.
	Offset int
	// ScrollPages scrolls by so many heights of the window first; negative is
	// up.
	ScrollPages float64
	// ScrollTo scrolls to an element first.
	ScrollTo *Ref
	// Page goes to the open page of that number first; zero stays.
	Page int
	// WaitFor waits until the page shows this text, up to the time of an act.
	WaitFor string
}

// Ref names an element of a digest.
type Ref struct {
	Index, Generation int
}

// State looks at the page.
func (s *Session) State(ctx context.Context, r StateRequest) View {
	const op = "state"
	ctx, done, err := s.begin(ctx, op)
	if err != nil {
		return s.failed(ctx0(ctx), op, err)
	}
	defer done()
	if r.MaxElements < 0 || r.Offset < 0 || r.Page < 0 {
		return s.failed(ctx, op, reasonError(op, ReasonInvalidArgument, "Numbers must not be negative.", nil))
	}
	if r.Page > 0 && !s.live.Show(ctx, r.Page) {
		return s.refused(ctx, op, reasonError(op, ReasonInvalidArgument, "There is no open page of that number.", nil))
	}
	if r.ScrollTo != nil {
		e, err := s.find(ctx, *r.ScrollTo)
		if err == nil {
			err = s.live.ScrollTo(ctx, node(e))
		}
		if err != nil {
			return s.unable(ctx, op, err)
		}
	}
	if r.ScrollPages != 0 {
		if err := s.live.Scroll(ctx, r.ScrollPages); err != nil {
			return s.failed(ctx, op, err)
		}
	}
	if r.Offset == 0 {
		if err := s.live.Look(ctx); err != nil {
			return s.failed(ctx, op, err)
		}
	}
	note := ""
	if r.WaitFor != "" {
		ok, err := s.waitFor(ctx, r.WaitFor)
		if err != nil {
			return s.failed(ctx, op, err)
		}
		if !ok {
			note = "the text that was waited for did not appear"
		}
	}
	v := s.view(ctx, op, nil, "")
	v.Effect = note
	v.part.Elements, v.part.Offset = r.MaxElements, r.Offset
	return v
}

// waitFor lets the page's time pass until it shows a text.
func (s *Session) waitFor(ctx context.Context, text string) (bool, error) {
	deadline := time.Now().Add(s.o.ActionTimeout)
	want := strings.ToLower(strings.Join(strings.Fields(text), " "))
	for round := 0; ; round++ {
		found, err := s.live.Shows(ctx, want)
		if err != nil || found {
			return found, err
		}
		if time.Now().After(deadline) || round >= maxWaitRounds {
			return false, nil
		}
		began := time.Now()
		if err := s.live.Step(ctx, time.Second); err != nil {
			return false, err
		}
		// What is waited for may come from elsewhere: a worker, a socket.
		if pause := waitPause - time.Since(began); pause > 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return false, context.Cause(ctx)
			}
		}
	}
}

// A wait for a text lets a minute of the page's time pass, in at least three
// seconds of real time.
const (
	maxWaitRounds = 60
	waitPause     = 50 * time.Millisecond
)

func node(e digest.Element) tab.Node { return tab.Node{Frame: e.Frame, Node: e.Node} }

// find returns the element that a reference is to, read again: it is still
// what it was when the caller saw it. The error is a [*digest.Stale] or
// [digest.ErrNoSuch].
func (s *Session) find(ctx context.Context, r Ref) (digest.Element, error) {
	was, err := s.table.Lookup(r.Index, r.Generation)
	if err != nil {
		return was, err
	}
	return s.confirm(ctx, was)
}

// confirm reads an element again.
func (s *Session) confirm(ctx context.Context, was digest.Element) (digest.Element, error) {
	now, err := s.live.Describe(ctx, node(was))
	if errors.Is(err, tab.ErrGone) {
		return was, s.table.Confirm(was, nil)
	}
	if err != nil {
		return was, err
	}
	return s.compare(was, now)
}

// compare compares an element with what it is now.
func (s *Session) compare(was digest.Element, now *digest.Element) (digest.Element, error) {
	now.Index, now.Origin = was.Index, was.Origin
	if err := s.guardElement(now); err != nil {
		return was, err
	}
	if err := s.table.Confirm(was, now); err != nil {
		return was, err
	}
	return *now, nil
}

// unable answers a call that was not carried out because of what the page is
// like: with what is in the way, and the page as it is now.
func (s *Session) unable(ctx context.Context, op string, err error) View {
	v := s.refused(ctx, op, err)
	var (
		stale   *digest.Stale
		covered *tab.CoveredError
		options *tab.OptionError
	)
	switch {
	case errors.As(err, &stale):
		now := stale.Now
		if now == "" {
			now = "gone"
		}
		was := stale.Was
		if was == "" {
			was = "of a page that is gone"
		}
		v.Detail = fmt.Sprintf("[%d] was %s, now %s", stale.Index, was, now)
	case errors.Is(err, tab.ErrUnclickable):
		v.Detail = "it takes no pointer events; what is behind it would get the click"
	case errors.As(err, &covered):
		v.Detail = "covered by " + quoted(covered.By)
	case errors.As(err, &options):
		var list []string
		for _, o := range options.Options {
			list = append(list, quoted(o))
		}
		v.Detail = "the options are " + strings.Join(list, ", ")
		if options.Several {
			v.Detail = "more than one option is called so; " + v.Detail
		}
	}
	if out, err := s.rules.guard.Output(v.Detail); err == nil {
		v.Detail = out
	} else {
		v.Detail = ""
	}
	return v
}

// quoted is a string of the page's in quotes, on one line.
func quoted(text string) string { return strconv.Quote(extract.Line(text, 120)) }

// ClickRequest clicks an element.
type ClickRequest struct {
	Ref
	// Selector names the element instead, where [SessionOptions.Selectors]
	// permits it.
	Selector string
	// AcceptDialogs accepts the dialogs that the click leads to, instead of
	// dismissing them.
	AcceptDialogs bool
}

// Click clicks an element, and tells what that changed.
func (s *Session) Click(ctx context.Context, r ClickRequest) View {
	const op = "click"
	ctx, done, err := s.begin(ctx, op)
	if err != nil {
		return s.failed(ctx0(ctx), op, err)
	}
	defer done()
	act, cancel := context.WithTimeoutCause(ctx, s.o.ActionTimeout, errAction)
	defer cancel()
	e, err := s.named(act, r.Ref, r.Selector)
	if err == nil {
		err = s.mayClick(e)
	}
	if err != nil {
		return s.unable(ctx, op, err)
	}
	s.live.AcceptDialogs(r.AcceptDialogs)
	defer s.live.AcceptDialogs(false)
	if err := s.click(act, e); err != nil {
		return s.acted(ctx, act, op, err)
	}
	return s.done(ctx, act, op, "clicked "+e.String(), r.Generation)
}

// named finds the element that a call is about, as it was last looked at.
func (s *Session) named(ctx context.Context, r Ref, selector string) (digest.Element, error) {
	if selector == "" {
		return s.table.Lookup(r.Index, r.Generation)
	}
	if !s.o.Selectors {
		return digest.Element{}, reasonError("act", ReasonInvalidArgument, "Selectors are not enabled by the operator; use index and generation.", nil)
	}
	n, err := s.live.Select(ctx, selector)
	if err != nil {
		return digest.Element{}, selectorError("act", err)
	}
	e, err := s.live.Describe(ctx, n)
	if err != nil {
		return digest.Element{}, selectorError("act", err)
	}
	if err := s.guardElement(e); err != nil {
		return digest.Element{}, err
	}
	return *e, nil
}

// mayClick judges what a click on e would do, as far as it can be seen before.
func (s *Session) mayClick(e digest.Element) error {
	if e.Disabled {
		return reasonError("click", ReasonDisabled, "", nil)
	}
	if err := s.mayActOn(e.Frame); err != nil {
		return err
	}
	if e.Href != "" && !strings.HasPrefix(strings.ToLower(e.Href), "javascript:") {
		if err := s.maySend("GET", e.Href, false); err != nil {
			return err
		}
	}
	return s.maySubmit(e)
}

// maySubmit judges where the form of a control goes.
func (s *Session) maySubmit(e digest.Element) error {
	if e.Action == "" || strings.EqualFold(e.Method, "dialog") || strings.HasPrefix(strings.ToLower(e.Action), "javascript:") {
		return nil
	}
	return s.maySend(e.Method, e.Action, true)
}

// click does it: with a point that was hit-tested, and the element confirmed
// once more, at the moment of the test or after it.
func (s *Session) click(ctx context.Context, e digest.Element) error {
	x, y, seen, err := s.live.Aim(ctx, node(e))
	if errors.Is(err, tab.ErrGone) {
		return s.table.Confirm(e, nil)
	}
	if err != nil {
		return err
	}
	var now digest.Element
	if seen != nil {
		now, err = s.compare(e, seen)
	} else {
		now, err = s.confirm(ctx, e)
	}
	if err != nil {
		return err
	}
	if err := s.mayClick(now); err != nil {
		return err
	}
	s.live.Follows(now.Href)
	defer s.live.Follows("")
	return s.live.Click(ctx, node(e), x, y)
}

// acted answers an act that failed: one that ran out of its own time says so.
func (s *Session) acted(ctx, act context.Context, op string, err error) View {
	if act.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w (%w)", errAction, err)
		return s.unable(ctx, op, err)
	}
	return s.unable(ctx, op, err)
}

// done answers an act that was carried out: known is the generation that the
// caller knows; if it is not the last one, a difference would not do.
func (s *Session) done(ctx, act context.Context, op, what string, known int) View {
	before := s.last
	if before == nil {
		before = &sight{Page: &digest.Page{}}
	}
	v := s.view(ctx, op, before, what+": ")
	if v.Status == StatusOK && v.Page != nil && !v.changed && len(v.Page.Events) == 0 && act.Err() == nil {
		// Nothing yet: what takes longer than an act's second, or real frames,
		// is given some, before it is called a click that does nothing.
		events := v.Page.Events
		if err := s.live.Wait(act, patience); err == nil {
			v = s.view(ctx, op, before, what+": ")
			if v.Page != nil {
				v.Page.Events = append(events, v.Page.Events...)
			}
		}
	}
	if known != before.Generation {
		v.since = nil
	}
	if hop := s.hop(); hop != nil && v.Status == StatusOK {
		e := explain(op, hop, s.run)
		v.Status, v.Reason, v.Hint, v.Err = e.Status, e.Reason, e.Hint, e
	}
	return v
}

// patience is how much more of its time a page gets that does not react.
const patience = 4 * time.Second

// hop is why the page was not let go where it wanted to during this call.
func (s *Session) hop() error {
	state, err := s.live.State()
	if err != nil || state.Hop == nil {
		return nil
	}
	return state.Hop.Err
}
