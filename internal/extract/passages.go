package extract

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	passageLen = 600  // code points around one match
	maxMatches = 4000 // matches looked at
)

// Passages returns the pieces of text around what query names, best first in
// choice but in the order of the text, each under a line with its offset. The
// comparison ignores case, accents, white space and punctuation. Without a
// match it says so and gives the head of the text. The whole has at most
// limit code points; Offset is that of the first piece, and Next is 0: offsets
// are for [Page].
func Passages(text, query string, limit int) Cut {
	total := utf8.RuneCountInString(text)
	spans := choose(text, query, limit)
	if len(spans) == 0 {
		note := "[no match for the query; this is the beginning]\n"
		c := Page(text, 0, max(limit-len(note), 1))
		c.Text = note + c.Text
		return c
	}
	cut := Cut{Total: total, Truncated: spans[0].from > 0 || spans[len(spans)-1].to < len(text) || len(spans) > 1}
	var b strings.Builder
	runes, room := 0, limit
	at := 0
	for i, s := range spans {
		runes += utf8.RuneCountInString(text[at:s.from])
		at = s.from
		if i == 0 {
			cut.Offset = runes
		}
		head := fmt.Sprintf("[… at %d]\n", runes)
		if i > 0 {
			head = "\n" + head
		}
		piece := strings.Trim(text[s.from:s.to], "\n") + "\n"
		if room -= utf8.RuneCountInString(head); room <= 0 {
			break
		}
		piece = piece[:clusterStart(piece, skip(piece, 0, room))]
		room -= utf8.RuneCountInString(piece)
		b.WriteString(head + piece)
	}
	cut.Text = b.String()
	return cut
}

// Finder returns a function that tells whether a text holds what query names,
// without regard to case, accents, white space and punctuation.
func Finder(query string) func(text string) bool {
	q := strings.TrimSpace(fold(query).text)
	return func(text string) bool { return q != "" && strings.Contains(fold(text).text, q) }
}

type span struct {
	from, to int // bytes of the text
	word     int // of a hit: which word of the query it is, or phrase
	score    int
}

const phrase = -1

// choose returns the best passages that fit, in order, overlaps merged.
func choose(text, query string, limit int) []span {
	q := strings.TrimSpace(fold(query).text)
	if q == "" {
		return nil
	}
	f := fold(text)
	words := strings.Fields(q)
	hits := f.find(q, phrase)
	if len(words) > 1 {
		for i, w := range words {
			if utf8.RuneCountInString(w) > 2 || len(words) < 3 {
				hits = append(hits, f.find(w, i)...)
			}
		}
	}
	if len(hits) == 0 {
		return nil
	}
	slices.SortStableFunc(hits, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	windows := windows(text, hits)
	slices.SortStableFunc(windows, func(a, b span) int { return cmp.Compare(b.score, a.score) })
	n := max(limit/(passageLen+20), 1)
	windows = windows[:min(n, len(windows))]
	slices.SortFunc(windows, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := windows[:1]
	for _, w := range windows[1:] {
		if last := &out[len(out)-1]; w.from <= last.to {
			last.to = max(last.to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}

// find returns where q stands in the text at the start of a word, or anywhere
// when it is written in a script without spaces.
func (f *folded) find(q string, word int) []span {
	var hits []span
	anywhere := q[0] >= utf8.RuneSelf
	for i := 0; len(hits) < maxMatches; {
		k := strings.Index(f.text[i:], q)
		if k < 0 {
			break
		}
		i += k
		if anywhere || i == 0 || f.text[i-1] == ' ' {
			hits = append(hits, span{from: f.origin(i), to: f.origin(i + len(q)), word: word})
		}
		i += len(q)
	}
	return hits
}

// windows groups hits that fit in one passage and widens each group to whole
// lines or words around it. The whole query scores most, then each different
// word; a word that comes again adds little.
func windows(text string, hits []span) []span {
	var out []span
	for i := 0; i < len(hits); {
		w := hits[i]
		count := map[int]int{}
		j := i
		for ; j < len(hits) && hits[j].from-hits[i].from < passageLen/2; j++ {
			w.to = max(w.to, hits[j].to)
			count[hits[j].word]++
		}
		i = j
		for word, n := range count {
			w.score += 10 + min(n, 5)
			if word == phrase {
				w.score += 1000
			}
		}
		w.from, w.to = widen(text, w.from, w.to)
		out = append(out, w)
	}
	return out
}

// widen grows a piece by up to half a passage on each side, to the edge of a
// line if one is near, else of a word.
func widen(text string, from, to int) (int, int) {
	room := max((passageLen-(to-from))/2, 80)
	lo, hi := max(from-room, 0), min(to+room, len(text))
	lo, hi = runeStart(text, lo), runeStart(text, hi)
	if lo > 0 {
		if i := strings.Index(text[lo:from], "\n"); i >= 0 && i < room*2/3 {
			lo += i + 1
		} else if i := strings.Index(text[lo:from], " "); i >= 0 {
			lo += i + 1
		}
	}
	if hi < len(text) {
		if i := strings.LastIndex(text[to:hi], "\n"); i >= room/3 {
			hi = to + i
		} else if i := strings.LastIndex(text[to:hi], " "); i >= 0 {
			hi = to + i
		}
	}
	return clusterStart(text, lo), clusterStart(text, hi)
}

func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}
