package bellglass

import (
	"maps"
	"sync"
)

// Stats counts what a [Browser] has read since [New]. All numbers only grow, so
// that they can be exposed as counters; none of them names a host, a tenant or a
// page.
type Stats struct {
	// Calls counts calls of [Browser.Browse] and [Browser.Links] that have ended,
	// by reason; "" is those that were ok.
	Calls map[Reason]int64
	// Pages counts visits that brought a page. Calls that were answered from
	// what is kept are none.
	Pages int64
	// Signals counts such pages by signal, see [Head].Signals.
	Signals map[string]int64
	// HiddenChars and HiddenBlocks add up what was left out of them because
	// nobody could see it; HiddenPages counts those that had such text.
	HiddenChars, HiddenBlocks, HiddenPages int64
}

// stats is Stats that many may count in.
type stats struct {
	mu sync.Mutex
	s  Stats
}

// Stats returns the counts of now.
func (b *Browser) Stats() Stats {
	b.stats.mu.Lock()
	defer b.stats.mu.Unlock()
	s := b.stats.s
	s.Calls, s.Signals = maps.Clone(s.Calls), maps.Clone(s.Signals)
	return s
}

// call counts a call that has ended.
func (c *stats) call(h *Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.s.Calls == nil {
		c.s.Calls = map[Reason]int64{}
	}
	c.s.Calls[h.Reason]++
}

// page counts a page that was visited.
func (c *stats) page(h *Head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.s.Signals == nil {
		c.s.Signals = map[string]int64{}
	}
	c.s.Pages++
	for _, s := range h.Signals {
		c.s.Signals[s]++
	}
	c.s.HiddenChars += int64(h.HiddenChars)
	c.s.HiddenBlocks += int64(h.HiddenBlocks)
	if h.HiddenChars > 0 {
		c.s.HiddenPages++
	}
}
