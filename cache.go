package bellglass

import (
	"container/list"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"
)

// Bounds of what is kept of pages that were read, for all principals together.
const (
	cacheBytes   = 64 << 20
	cacheEntries = 512
)

// cacheKey is what a kept page is found by. Nobody gets what another principal
// has read.
type cacheKey struct {
	Principal
	url string // as it was asked for
}

// cache keeps readings for a while, so that the rest of a page, or another
// question about it, costs no visit and fits what was read before. It is safe
// for concurrent use.
type cache struct {
	ttl time.Duration // at most zero: nothing is kept

	mu    sync.Mutex
	byKey map[cacheKey]*list.Element
	order *list.List // of *cached, the one used last in front
	bytes int
}

type cached struct {
	key   cacheKey
	page  *reading
	head  Head
	bytes int
	until time.Time
}

func newCache(ttl time.Duration) *cache {
	return &cache{ttl: ttl, byKey: map[cacheKey]*list.Element{}, order: list.New()}
}

// get returns what is kept, if it is not too old.
func (c *cache) get(k cacheKey) (*reading, Head, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil, Head{}, false
	}
	if v := e.Value.(*cached); time.Now().Before(v.until) {
		c.order.MoveToFront(e)
		return v.page, v.head, true
	}
	c.drop(e)
	return nil, Head{}, false
}

// put keeps a page that was read whole and well, in place of an older one.
// What is large is kept at the price of all else, or not at all.
func (c *cache) put(k cacheKey, page *reading, head Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[k]; e != nil {
		c.drop(e)
	}
	n := page.bytes()
	if c.ttl <= 0 || n > cacheBytes/2 || head.Status != StatusOK || head.HTTPStatus >= 400 || page.partial {
		return
	}
	c.byKey[k] = c.order.PushFront(&cached{k, page, head, n, time.Now().Add(c.ttl)})
	c.bytes += n
	for c.bytes > cacheBytes || c.order.Len() > cacheEntries {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	v := c.order.Remove(e).(*cached)
	delete(c.byKey, v.key)
	c.bytes -= v.bytes
}

// clear forgets everything.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byKey)
	c.order.Init()
	c.bytes = 0
}

// hashOf is the first half of a SHA-256, in hexadecimal: enough to tell whether
// a page has changed.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
