package robots

import (
	"context"
	"sync"
	"time"
)

// Answer is what an origin says to whoever asks for its file.
type Answer struct {
	Rules *Rules // nil: everything is allowed
	// Status is that of the response. From 500 on the file cannot be reached,
	// and nothing is allowed (RFC 9309 section 2.3.1.4).
	Status int
	// Keep is how long the answer may be used.
	Keep time.Duration
}

// Unreachable reports that the origin has a file that it cannot give out.
func (a Answer) Unreachable() bool { return a.Status >= 500 }

// Bounds of a Cache.
const (
	maxEntries = 2000
	maxKeep    = 24 * time.Hour // RFC 9309 section 2.4
)

// Cache keeps answers by a key of the caller's, such as tenant and origin. The
// zero value is ready to use. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries map[string]*entry
}

// entry is an answer, or one that is being asked for.
type entry struct {
	answer  Answer
	known   bool
	expires time.Time
	retry   time.Time     // an outage is known, and not to be asked about before
	asking  chan struct{} // closed when the question under way is answered; nil if none is
}

func (e *entry) fresh(now time.Time) bool {
	return e.known && (now.Before(e.expires) || now.Before(e.retry))
}

// Peek returns an answer that is known and fresh.
func (c *Cache) Peek(key string) (Answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil && e.fresh(time.Now()) {
		return e.answer, true
	}
	return Answer{}, false
}

// Get returns the answer for a key. If it is not known, or no longer, ask is
// called, once for all that wait; its error, which nobody keeps, is returned to
// the one whose call it was. An origin that cannot be reached any more is
// answered for by what it said last, for as long as that may be kept.
func (c *Cache) Get(ctx context.Context, key string, ask func(context.Context) (Answer, error)) (Answer, error) {
	for {
		c.mu.Lock()
		e := c.entries[key]
		if e != nil && e.fresh(time.Now()) {
			c.mu.Unlock()
			return e.answer, nil
		}
		if e == nil {
			e = c.add(key)
		}
		if e.asking == nil {
			e.asking = make(chan struct{})
			c.mu.Unlock()
			return c.settle(ctx, e, ask)
		}
		asking := e.asking
		c.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
			return Answer{}, context.Cause(ctx)
		}
	}
}

// settle asks, and tells those that wait.
func (c *Cache) settle(ctx context.Context, e *entry, ask func(context.Context) (Answer, error)) (Answer, error) {
	a, err := Answer{}, error(nil)
	defer func() { // also if ask panics
		c.mu.Lock()
		close(e.asking)
		e.asking = nil
		c.mu.Unlock()
	}()
	a, err = ask(ctx)
	if err != nil {
		return Answer{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if a.Unreachable() && e.known && !e.answer.Unreachable() && now.Before(e.expires.Add(maxKeep-e.answer.Keep)) {
		e.retry = now.Add(min(a.Keep, maxKeep))
		return e.answer, nil
	}
	a.Keep = min(a.Keep, maxKeep)
	e.answer, e.known, e.expires = a, true, now.Add(a.Keep)
	return a, nil
}

// add makes room for a new entry. The caller holds c.mu.
func (c *Cache) add(key string) *entry {
	if c.entries == nil {
		c.entries = map[string]*entry{}
	}
	now := time.Now()
	for _, all := range []bool{false, true} { // the stale ones first, then any
		for k, e := range c.entries {
			if len(c.entries) < maxEntries {
				break
			}
			if e.asking == nil && (all || now.After(e.expires)) {
				delete(c.entries, k)
			}
		}
	}
	e := &entry{}
	c.entries[key] = e
	return e
}
