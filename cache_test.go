package bellglass

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func kept(n int) *reading { return &reading{raw: strings.Repeat("x", n)} }

func key(run, url string) cacheKey { return cacheKey{Principal{"t", run}, url} }

// TestCacheIsBounded by bytes and by entries, and forgets what was used least
// recently.
func TestCacheIsBounded(t *testing.T) {
	c := newCache(time.Hour)
	ok := Head{Status: StatusOK}
	for i := range 20 {
		c.put(key("r", fmt.Sprint(i)), kept(8<<20), ok)
		c.get(key("r", "0"))
	}
	if c.bytes > cacheBytes || len(c.byKey) != c.order.Len() {
		t.Errorf("%d bytes, %d and %d entries", c.bytes, len(c.byKey), c.order.Len())
	}
	for url, want := range map[string]bool{"0": true, "1": false, "19": true} {
		if _, _, got := c.get(key("r", url)); got != want {
			t.Errorf("%s is kept: %v", url, got)
		}
	}
	c.put(key("r", "huge"), kept(cacheBytes), ok)
	if _, _, got := c.get(key("r", "huge")); got {
		t.Error("a page larger than half of the cache is kept")
	}
	for i := range 2 * cacheEntries {
		c.put(key("s", fmt.Sprint(i)), kept(1), ok)
	}
	if c.order.Len() != cacheEntries || len(c.byKey) != cacheEntries {
		t.Errorf("%d entries", c.order.Len())
	}
	c.clear()
	if c.bytes != 0 || c.order.Len() != 0 {
		t.Errorf("%d bytes, %d entries after clearing", c.bytes, c.order.Len())
	}
}

func TestCacheKeepsWhatIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache(time.Minute)
		for name, k := range map[string]struct {
			head Head
			page *reading
			want bool
		}{
			"ok":       {Head{Status: StatusOK, HTTPStatus: 200}, kept(1), true},
			"404":      {Head{Status: StatusOK, HTTPStatus: 404}, kept(1), false},
			"timeout":  {Head{Status: StatusTimeout}, kept(1), false},
			"breaking": {Head{Status: StatusOK}, &reading{partial: true}, false},
		} {
			c.put(key("r", name), k.page, k.head)
			if _, _, got := c.get(key("r", name)); got != k.want {
				t.Errorf("%s is kept: %v", name, got)
			}
		}
		if _, _, got := c.get(key("other", "ok")); got {
			t.Error("another run gets it")
		}
		c.put(key("r", "ok"), kept(1), Head{Status: StatusTimeout})
		if _, _, got := c.get(key("r", "ok")); got {
			t.Error("an older reading stayed after a newer one failed")
		}
		c.put(key("r", "old"), kept(1), Head{Status: StatusOK})
		time.Sleep(time.Minute)
		if _, _, got := c.get(key("r", "old")); got || c.bytes != 0 {
			t.Errorf("kept for longer than asked: %v, %d bytes", got, c.bytes)
		}
	})
}
