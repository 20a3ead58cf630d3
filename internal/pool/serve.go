package pool

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// reviveWithin is how recently a worker that died must have been used for
// another to be started before anybody asks for one.
const reviveWithin = time.Minute

// begin returns the start that will serve the tenant: one under way, or a new
// one, for which the longest idle worker of somebody else's may have to go. The
// caller holds f.mu.
func (f *Fleet[W]) begin(tenant string) (*start, error) {
	for _, s := range f.starts {
		if f.o.Shared || tenant == "" || s.tenant == "" || s.tenant == tenant {
			if s.tenant == "" && !f.o.Shared {
				s.tenant = tenant
			}
			return s, nil
		}
	}
	if err := f.hold(tenant); err != nil {
		return nil, err
	}
	if n := f.running(); n > f.o.Workers || n > 0 && (n == f.o.Workers || f.noRoom() != nil) && !f.evict() {
		return nil, ErrBusy
	}
	return f.launch(tenant), nil
}

// evict retires the worker that has been idle longest, if there is one. The
// caller holds f.mu.
func (f *Fleet[W]) evict() bool {
	var old *member[W]
	for _, m := range f.workers {
		if m.busy == 0 && (old == nil || m.used.Before(old.used)) {
			old = m
		}
	}
	if old != nil {
		f.retire(old)
	}
	return old != nil
}

// launch starts a worker. The caller holds f.mu.
func (f *Fleet[W]) launch(tenant string) *start {
	if f.o.Shared {
		tenant = ""
	}
	s := &start{tenant: tenant, done: make(chan struct{})}
	f.starts = append(f.starts, s)
	f.wg.Go(func() {
		w, err := f.o.Start(f.life)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.starts = slices.DeleteFunc(f.starts, func(o *start) bool { return o == s })
		switch {
		case err == nil:
			f.failed = backoff{}
			err = f.land(w, s.tenant)
		case f.state == closed:
			err = ErrClosed
		default:
			f.failed.add(time.Now(), err, 1)
		}
		s.err = err
		close(s.done)
		f.wake()
	})
	return s
}

// land puts a new worker into service, and retires those that it replaces. The
// caller holds f.mu.
func (f *Fleet[W]) land(w W, tenant string) error {
	now := time.Now()
	m := &member[W]{w: w, tenant: tenant, born: now, used: now, over: make(chan struct{}), empty: make(chan struct{})}
	for _, o := range slices.Clone(f.workers) {
		if o.worn && o.tenant == tenant {
			f.retire(o)
		}
	}
	f.workers = append(f.workers, m)
	if f.state == closed {
		f.retire(m)
		return ErrClosed
	}
	f.wg.Go(func() { f.watch(m) })
	return nil
}

// retire takes a worker out of service; it ends with its last lease. The
// caller holds f.mu.
func (f *Fleet[W]) retire(m *member[W]) {
	if m.retired {
		return
	}
	m.retired = true
	f.workers = slices.DeleteFunc(f.workers, func(o *member[W]) bool { return o == m })
	close(m.over)
	if m.busy > 0 && !f.dead(m) {
		m.counted = true
		f.winding++
	}
	f.wg.Go(func() {
		<-m.empty
		f.o.Close(m.w)
	})
	f.vacate(m)
}

// vacate lets a retired worker end if nobody uses it. The caller holds f.mu.
func (f *Fleet[W]) vacate(m *member[W]) {
	if m.busy > 0 {
		return
	}
	if m.counted {
		m.counted = false
		f.winding--
	}
	close(m.empty)
}

// watch looks after a worker as long as it serves.
func (f *Fleet[W]) watch(m *member[W]) {
	var tick <-chan time.Time
	if f.o.Every > 0 {
		t := time.NewTicker(f.o.Every)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-m.over:
			return
		case <-f.o.Done(m.w):
			f.mu.Lock()
			f.lose(m)
			f.wake()
			f.mu.Unlock()
			return
		case <-tick:
			f.look(m)
		}
	}
}

// look checks a worker, and ends one that has been idle for long.
func (f *Fleet[W]) look(m *member[W]) {
	var err error
	if f.o.Check != nil {
		err = f.o.Check(f.life, m.w)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.wake()
	now := time.Now()
	for tenant, b := range f.crashes {
		if now.Sub(b.last) > calm && now.After(b.until) {
			delete(f.crashes, tenant)
		}
	}
	switch {
	case m.retired || f.state == closed:
		return
	case errors.Is(err, ErrWorn):
		if !m.worn {
			f.o.Log("a worker is replaced", "reason", err)
		}
		m.worn = true
	case err != nil:
		f.o.Log("a worker is not in order", "error", err)
		f.lose(m)
		return
	}
	f.judge(m)
	if m.retired || m.busy > 0 {
		return
	}
	replacing := slices.ContainsFunc(f.starts, func(s *start) bool { return s.tenant == m.tenant })
	if m.worn && !replacing || f.o.Idle > 0 && len(f.workers) > 1 && now.Sub(m.used) >= f.o.Idle {
		f.retire(m)
	}
}

// lose takes a worker out of service that is of no more use. If somebody had
// need of it lately, another is started. The caller holds f.mu.
func (f *Fleet[W]) lose(m *member[W]) {
	if m.retired {
		return
	}
	now := time.Now()
	wanted := m.uses > 0 && (m.busy > 0 || now.Sub(m.used) < reviveWithin)
	f.retire(m)
	if m.counted { // it takes no memory, and must not stand in another's way
		m.counted = false
		f.winding--
	}
	if f.state == closed {
		return
	}
	b := f.crashes[m.tenant]
	if now.Sub(b.last) > calm {
		b = backoff{}
	}
	b.add(now, nil, tolerated)
	f.crashes[m.tenant] = b
	if wanted && f.state == open && f.usable(m.tenant) == nil {
		f.begin(m.tenant) // else the next caller asks
	}
}

// bury takes dead workers out of service that nobody has noticed yet. The
// caller holds f.mu.
func (f *Fleet[W]) bury() {
	for _, m := range slices.Clone(f.workers) {
		if f.dead(m) {
			f.lose(m)
		}
	}
}

// backoff is how long to wait after failures in a row.
type backoff struct {
	n     int
	last  time.Time
	until time.Time
	err   error
}

// The waits between starts: none after the failures that are tolerated, then
// twice as long each time. Deaths of a tenant's workers are tolerated until five
// have come without a minute of calm: a browser takes a quarter of a second of
// a processor to start.
const (
	firstWait = 250 * time.Millisecond
	longest   = 30 * time.Second
	tolerated = 5
	calm      = time.Minute
)

func (b *backoff) add(now time.Time, err error, free int) {
	b.n++
	b.last, b.err = now, err
	if b.n > free {
		b.until = now.Add(min(firstWait<<min(b.n-free-1, 16), longest))
	}
}

// hold returns why no worker is started for the tenant now, or nil. The caller
// holds f.mu.
func (f *Fleet[W]) hold(tenant string) error {
	now := time.Now()
	if f.failed.until.After(now) {
		return &BackoffError{Until: f.failed.until, Err: f.failed.err}
	}
	if f.o.Shared {
		tenant = ""
	}
	if b := f.crashes[tenant]; b.until.After(now) {
		return &BackoffError{Until: b.until}
	}
	return nil
}

// waiter is a caller that waits for others. Try is one more attempt, under
// Fleet.mu; what it yields is sent unless it is another refusal to wait for.
type waiter struct {
	tenant string
	try    func() error
	done   chan error // capacity 1
}

// await tries, and waits for others' releases as long as the options say.
func (f *Fleet[W]) await(ctx context.Context, tenant string, try func() error) error {
	f.mu.Lock()
	f.bury()
	err := try()
	if !crowded(err) || f.o.Wait <= 0 || len(f.waiters) >= f.o.Leases {
		f.mu.Unlock()
		return err
	}
	w := &waiter{tenant, try, make(chan error, 1)}
	f.waiters = append(f.waiters, w)
	f.mu.Unlock()
	timer := time.NewTimer(f.o.Wait)
	defer timer.Stop()
	select {
	case err := <-w.done:
		return err
	case <-timer.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	f.mu.Lock()
	f.waiters = slices.DeleteFunc(f.waiters, func(o *waiter) bool { return o == w })
	f.mu.Unlock()
	select {
	case err = <-w.done: // it came at the same time
	default:
	}
	return err
}

func crowded(err error) bool { return errors.Is(err, ErrBusy) || errors.Is(err, ErrTenantBusy) }

// wake lets those who wait try again, the tenant with the fewest callers first,
// then whoever has waited longest. The caller holds f.mu.
func (f *Fleet[W]) wake() {
	for again := len(f.waiters) > 0; again; {
		again = false
		order := slices.Clone(f.waiters)
		slices.SortStableFunc(order, func(a, b *waiter) int { return cmp.Compare(f.tenants[a.tenant], f.tenants[b.tenant]) })
		for _, w := range order {
			err := w.try()
			if crowded(err) {
				continue
			}
			w.done <- err
			f.waiters = slices.DeleteFunc(f.waiters, func(o *waiter) bool { return o == w })
			again = true
			break // others may come first now
		}
	}
}
