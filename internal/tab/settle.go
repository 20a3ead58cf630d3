package tab

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	cdpt "github.com/chromedp/cdproto/cdp"

	"github.com/bellglass/bellglass/internal/cdp"
)

// How long a page is waited for. The page's own timers run in virtual time and
// cost nothing; only the network, sockets and workers are waited for in real
// time. Figures were measured on Chromium 156.
const (
	// virtualBudget is how much of the page's own time passes after a commit.
	virtualBudget = 5 * time.Second
	// reloadBudget is what a page gets that has reloaded itself: less than the
	// second that refresh loops usually wait.
	reloadBudget = 500 * time.Millisecond
	// starvation is how many tasks may run at one instant of virtual time
	// before it is forced on: a page that queues work for ever must not stand
	// still.
	starvation = 1000
	// maxRounds bounds how often a page gets more time because something new
	// appeared.
	maxRounds = 5
	// afterLoad bounds the real time after the load event (or, when that does
	// not come, after DOMContentLoaded).
	afterLoad = 3 * time.Second
	// stall is the silence after which a request in flight counts as hanging:
	// long polls and hanging frames never end. An honest API that is slower
	// looks the same, so a page with little text is given thinStall, and one
	// whose own answer took long to begin twice that time.
	stall     = 250 * time.Millisecond
	thinStall = 1500 * time.Millisecond
	// streamGrace is the same for a page that waits only for event streams, and
	// the least time between two policies: one that follows another at once is
	// lost now and then, and the page's time stands still (seen in one of twelve
	// runs, measured on 156).
	streamGrace = 40 * time.Millisecond
	// nudge is the virtual time given to the parser of a second document that
	// could go on while other requests are in flight: its going on is a task of
	// the page's time, which stands still for them.
	nudge = 100 * time.Millisecond
	// stuck is the silence after which a page whose parser waits is helped by
	// cutting what hangs; unstickAgain is the pause before the next cut, for the
	// browser tries a request again whose connection broke off.
	stuck        = 4 * time.Second
	unstickAgain = time.Second
	// A document of more than heavy bytes is laid out again and again while it
	// is parsed, each time for seconds. One whose process then gives no sign of
	// life for this part of Request.Timeout at a time, or wedgedTotal of it in
	// all, is too large to be read. (Of the usual 15 seconds that is 3.75 and 6;
	// ten megabytes of paragraphs took five a layout, measured.)
	heavy       = 2 << 20
	wedged      = 1. / 4
	wedgedTotal = 2. / 5
	// grace is the real time given once to sockets and workers, which virtual
	// time does not know; a socket's is over socketQuiet after it spoke.
	grace       = 300 * time.Millisecond
	socketQuiet = 15 * time.Millisecond
	// leaveGrace is how long a navigation that a script asked for may take to
	// become a request.
	leaveGrace = 100 * time.Millisecond
	// crashGrace is how long after a navigation broke off without a response the
	// news may come that the page's process has died.
	crashGrace = 300 * time.Millisecond
	// leaveWait is how long the answer to that request is waited for when the
	// document shown is parsed and can be read instead.
	leaveWait = 8 * time.Second
)

// action is what settle does next.
type action int

const (
	actWait    action = iota // until something happens or the time is come
	actRead                  // the page has settled
	actArm                   // give every frame a new budget
	actGoOn                  // hanging requests no longer stop the page's time
	actProbe                 // hanging requests: look whether the text is there
	actPing                  // ask the document's process for a sign of life
	actCount                 // ask it whether the parser has stopped
	actNudge                 // let the page's time run a little, for the parser's sake
	actUnstick               // cut what hangs: the parser waits for it
	actFail                  // visit.fatal or a crash
)

// decide looks at the visit. It returns what to do, and for actWait until when.
func (t *Tab) decide(now time.Time) (action, time.Time) {
	v := t.visit
	deadline := v.started.Add(v.req.Timeout)
	switch {
	case v.fatal != nil || t.crashed:
		return actFail, now
	case v.redirects > maxHops:
		v.fatal = ErrTooManyRedirects
		return actFail, now
	case v.taken != nil && v.taken.done:
		return actRead, now
	case v.taken != nil:
		return waitFor(now, deadline)
	case v.answered && v.navError == "net::ERR_ABORTED" && v.main().status == 0 && now.Before(v.answer.Add(crashGrace)):
		return actWait, earlier(v.answer.Add(crashGrace), deadline)
	case v.answered && (v.navError != "" || v.isFile) && v.committed <= 1:
		return actRead, now // failed, or nothing to show
	case v.committed == 0:
		return waitFor(now, deadline)
	case v.leaving != "" && v.doc.dcl.IsZero():
		return waitFor(now, deadline)
	case v.leaving != "" && now.Before(v.left.Add(leaveWait)):
		return actWait, earlier(v.left.Add(leaveWait), deadline)
	case !v.asked.IsZero() && now.Sub(v.asked) < leaveGrace:
		return actWait, v.asked.Add(leaveGrace)
	case v.doc.unreachable != "":
		return actRead, now
	}
	if v.doc.dcl.IsZero() { // waitFor there: the deadline ends it
		return t.decideParsing(v, now, deadline)
	}
	limit := earlier(v.limit(), deadline)
	if now.After(limit) {
		return actRead, now
	}
	if v.req.Real {
		return v.decideReal(now, limit)
	}
	for _, fs := range t.sessions {
		if !fs.expired {
			return decideRunning(v, now, limit)
		}
	}
	return t.decideExpired(v, now, limit)
}

// limit is when a parsed page is read, come what may.
func (v *visit) limit() time.Time {
	if v.doc.load.IsZero() {
		return later(v.doc.dcl, v.from).Add(afterLoad)
	}
	return later(v.doc.load, v.from).Add(afterLoad)
}

// share is a part of the time that the page is given.
func (v *visit) share(of float64) time.Duration {
	return time.Duration(of * float64(v.req.Timeout))
}

// waitFor waits until the deadline, and settles when it has passed.
func waitFor(now, deadline time.Time) (action, time.Time) {
	if !now.Before(deadline) {
		return actRead, now
	}
	return actWait, deadline
}

// decideParsing: a document is there, but its parser has not come to the end.
func (t *Tab) decideParsing(v *visit, now, deadline time.Time) (action, time.Time) {
	if v.doc.bytes > heavy {
		switch {
		case v.doc.pinged.IsZero() && now.Sub(v.doc.last) > time.Second:
			return actPing, now
		case !v.doc.pinged.IsZero() && now.Sub(v.doc.pinged) > min(v.share(wedged), v.share(wedgedTotal)-v.doc.silent):
			v.fatal = ErrTooLarge
			return actFail, now
		}
		deadline = earlier(deadline, now.Add(time.Second))
	}
	n, _, last := v.waiting()
	if n == 0 && v.doc.whole && (t.sessions[t.main].expired || v.doc.stopped) {
		// A script that leaves for an app's scheme stops the parser, and no
		// event tells of its end.
		v.doc.dcl = now
		return actArm, now
	}
	if n == 0 && v.doc.whole && !v.virtual && !v.doc.counting {
		if due := later(v.doc.last, v.doc.committed).Add(stall); now.Before(due) {
			return actWait, earlier(due, deadline)
		}
		return actCount, now
	}
	if n == 0 || !now.Before(deadline) {
		return waitFor(now, deadline)
	}
	due := deadline
	if v.virtual {
		due = later(last, v.nudged).Add(stall)
		if v.unblocked || !now.Before(due) {
			v.unblocked, v.nudged = false, now
			return actNudge, now
		}
	}
	if v.req.Unstick != nil {
		cut := last.Add(stuck)
		if !v.unstuck.IsZero() {
			cut = v.unstuck.Add(unstickAgain)
		}
		if !now.Before(cut) {
			v.unstuck = now
			return actUnstick, now
		}
		due = earlier(due, cut)
	}
	return waitFor(now, earlier(due, deadline))
}

// decideRunning: some frame's virtual time has not run out.
func decideRunning(v *visit, now, limit time.Time) (action, time.Time) {
	if v.policy == emulation.VirtualTimePolicyAdvance {
		return actWait, limit
	}
	n, streams, last := v.waiting()
	due := limit
	switch {
	case n > 0:
		due = last.Add(v.patience(stall))
	case streams > 0:
		due = v.armed.Add(streamGrace)
	}
	due = later(due, v.armed.Add(streamGrace))
	if now.Before(due) {
		return actWait, earlier(due, limit)
	}
	if n > 0 && v.mayBringText() && now.Before(last.Add(thinStall)) {
		return actProbe, earlier(last.Add(thinStall), limit)
	}
	return actGoOn, now
}

// decideExpired: every frame has used its budget.
func (t *Tab) decideExpired(v *visit, now, limit time.Time) (action, time.Time) {
	if (v.newFrames || (len(t.sessions) > 1 && v.rounds == 0)) && v.rounds < maxRounds {
		return actArm, now
	}
	if !v.graced && (t.workers > 0 || len(v.sockets) > 0) {
		if v.grace.IsZero() {
			v.grace = now
		}
		due := v.grace.Add(v.patience(grace))
		if t.workers == 0 && v.spoke.After(v.grace) {
			due = earlier(due, v.spoke.Add(socketQuiet))
		}
		if now.Before(due) {
			return actWait, earlier(due, limit)
		}
		v.graced = true
		return actArm, now
	}
	// With hanging requests given up, virtual time no longer waits for the
	// network; what the page's timers asked for meanwhile is waited for here.
	if n, _, last := v.waiting(); n > 0 && v.policy == emulation.VirtualTimePolicyAdvance && v.rounds < maxRounds {
		if due := last.Add(v.patience(stall)); now.Before(due) {
			return actWait, earlier(due, limit)
		}
		v.giveUp()
		return actArm, now
	}
	// What a session operates must be there: frames are parsed after their
	// bytes have come, and the load event waits for them.
	if v.req.pictures && v.doc.load.IsZero() && len(t.frames) > 1 && v.rounds < maxRounds {
		if due := v.armed.Add(streamGrace); now.Before(due) {
			return actWait, earlier(due, limit)
		}
		return actArm, now
	}
	return actRead, now
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settle returns when the page is worth reading, or cannot become so.
func (t *Tab) settle(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		t.mu.Lock()
		now := time.Now()
		act, until := t.decide(now)
		v := t.visit
		err := v.fatal
		if err == nil && t.crashed {
			err = ErrCrashed
		}
		t.mu.Unlock()

		switch act {
		case actFail:
			return err
		case actRead:
			return nil
		case actArm:
			t.arm(true)
			continue
		case actProbe:
			if !t.thin(ctx) {
				t.goOn()
				continue
			}
			until = earlier(until, now.Add(stall))
		case actGoOn:
			t.goOn()
			continue
		case actPing:
			t.ping()
			continue
		case actCount:
			t.count()
			continue
		case actNudge:
			setPolicy(t.main, policyParams(emulation.VirtualTimePolicyAdvance, nudge))
			continue
		case actUnstick:
			v.req.Unstick(unstickAgain / 2)
			continue
		}
		timer.Reset(time.Until(until))
		select {
		case <-t.wake:
		case <-timer.C:
		case <-t.main.Done():
			return ErrCrashed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ping asks the page's process for a sign of life; the answer clears pinged.
func (t *Tab) ping() {
	t.mu.Lock()
	v := t.visit
	v.doc.pinged = time.Now()
	loader := v.doc.loader
	t.mu.Unlock()
	answer := cdp.Go(t.main, runtime.Evaluate, runtime.EvaluateParams{Expression: "0"})
	t.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
		defer cancel()
		if _, err := answer.Wait(ctx); err != nil {
			return
		}
		t.update(func(v *visit, now time.Time) {
			if v.doc.loader == loader {
				v.doc.silent += now.Sub(v.doc.pinged)
				v.doc.pinged, v.doc.last = time.Time{}, now
			}
		})
	})
}

// count asks how far the parser has come. Twice at the same place, with a
// process that answers, it has stopped.
func (t *Tab) count() {
	t.mu.Lock()
	t.visit.doc.counting = true
	loader := t.visit.doc.loader
	t.mu.Unlock()
	t.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
		defer cancel()
		s, err := t.evaluate(ctx, t.main, t.mainFrame(), runtime.EvaluateParams{Expression: "'' + document.getElementsByTagName('*').length"})
		t.update(func(v *visit, now time.Time) {
			if v.doc.loader == loader {
				v.doc.counting, v.doc.last = false, now
				v.doc.stopped = err == nil && s == v.doc.nodes
				v.doc.nodes = s
			}
		})
	})
}

// arm gives every frame's session a budget of virtual time. A round is counted
// when the last budget was used up.
func (t *Tab) arm(round bool) {
	t.mu.Lock()
	v := t.visit
	if v.req.Real {
		t.mu.Unlock()
		return
	}
	v.virtual, v.armed = true, time.Now()
	if round {
		v.rounds++
	}
	v.newFrames = false
	params := t.budget(v, true)
	var sessions []*cdp.Session
	for s, fs := range t.sessions {
		fs.expired = false
		sessions = append(sessions, s)
	}
	t.mu.Unlock()
	for _, s := range sessions {
		setPolicy(s, params)
	}
}

// goOn lets the page's time run without regard to what is in flight.
func (t *Tab) goOn() {
	t.mu.Lock()
	t.visit.giveUp()
	t.visit.policy = emulation.VirtualTimePolicyAdvance
	t.mu.Unlock()
	t.arm(false)
}

// budget is the virtual time of the visit's current policy.
func (t *Tab) budget(v *visit, isMain bool) emulation.SetVirtualTimePolicyParams {
	d := virtualBudget
	if v.span > 0 {
		d = v.span
	}
	if isMain && v.reloads > 0 {
		d = reloadBudget
	}
	return policyParams(v.policy, d)
}

func policyParams(p emulation.VirtualTimePolicy, d time.Duration) emulation.SetVirtualTimePolicyParams {
	ms := float64(d.Milliseconds())
	return emulation.SetVirtualTimePolicyParams{Policy: p, Budget: &ms, MaxVirtualTimeTaskStarvationCount: starvation}
}

func setPolicy(s *cdp.Session, p emulation.SetVirtualTimePolicyParams) {
	cdp.Go(s, emulation.SetVirtualTimePolicy, p)
}

// stop ends all loading, so that a page that never ends can be read.
func (t *Tab) stop() { cdp.Go(t.main, page.StopLoading, cdpt.Empty{}) }
