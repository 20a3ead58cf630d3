package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut is a piece of a longer text. All numbers count code points.
type Cut struct {
	Text      string
	Offset    int // where the piece begins
	Total     int // of the whole text
	Next      int // where the next piece begins; 0 after the last
	Truncated bool
}

// Page returns the piece of text that begins at offset and has at most limit
// code points. It ends at the end of a paragraph, a line or a word where one
// is near, and never inside a character that is made of several code points.
// A code block that goes on beyond the piece is closed at its end, and opened
// again at the start of the next; apart from these fences, the pieces that
// Next leads to are the text, in order and complete. An offset past the end
// gives an empty piece.
func Page(text string, offset, limit int) Cut {
	total := utf8.RuneCountInString(text)
	offset = max(offset, 0)
	if offset >= total || limit <= 0 {
		return Cut{Offset: offset, Total: total, Truncated: offset < total}
	}
	from := skip(text, 0, offset)
	head, tail := "", ""
	if open := openFence(text[:from]); open != "" {
		head = open + "\n"
		limit = max(limit-utf8.RuneCountInString(head), 1)
	}
	to := cutAt(text, from, limit)
	if open := openFence(text[:to]); to < len(text) && open != "" {
		tail = "\n" + closing(open)
		to = cutAt(text, from, max(limit-utf8.RuneCountInString(tail), 1))
		if openFence(text[:to]) == "" {
			tail = ""
		} else if text[to-1] == '\n' {
			tail = tail[1:]
		}
	}
	c := Cut{Text: head + text[from:to] + tail, Offset: offset, Total: total}
	if to < len(text) {
		c.Truncated = true
		c.Next = offset + utf8.RuneCountInString(text[from:to])
	}
	return c
}

// skip returns the index in s that is n code points after i, at most len(s).
func skip(s string, i, n int) int {
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

// cutAt returns where a piece of text that starts at from ends, with room for
// that many code points.
func cutAt(text string, from, room int) int {
	hard := skip(text, from, room)
	if hard == len(text) {
		return hard
	}
	// The last fifth may be given up for a better place to end.
	soft := skip(text, from, room-room/5)
	for _, sep := range []string{"\n\n", "\n", " "} {
		if i := strings.LastIndex(text[soft:hard], sep); i >= 0 {
			return soft + i + len(sep)
		}
	}
	if at := clusterStart(text, hard); at > from {
		return at
	}
	return hard
}

// clusterStart returns the last index at or before i at which a character may
// begin. Only a bounded stretch is looked at: a longer cluster is not writing.
func clusterStart(s string, i int) int {
	at := i
	for range 32 {
		if at <= 0 || at >= len(s) {
			return at
		}
		prev, size := utf8.DecodeLastRuneInString(s[:at])
		next, _ := utf8.DecodeRuneInString(s[at:])
		if !joined(prev, next, s[:at]) {
			return at
		}
		at -= size
	}
	return i
}

// joined reports that next belongs to the character that prev is part of.
func joined(prev, next rune, before string) bool {
	switch {
	case prev == '\r':
		return next == '\n'
	case next == 0x200D || prev == 0x200D && pictographic(next):
		return true
	case next >= 0xFE00 && next <= 0xFE0F, next >= 0x1F3FB && next <= 0x1F3FF, next >= 0xE0020 && next <= 0xE007F:
		return true
	case unicode.In(next, unicode.Mn, unicode.Me, unicode.Mc):
		return true
	case regional(prev) && regional(next):
		return flagsBefore(before)%2 == 1
	case prev >= 0x1100 && prev <= 0x115F || prev >= 0xA960 && prev <= 0xA97C: // Hangul in letters
		return next >= 0x1100 && next <= 0x11FF || next >= 0xAC00 && next <= 0xD7A3
	case next >= 0x1160 && next <= 0x11FF:
		return unicode.Is(unicode.Hangul, prev)
	}
	return unicode.Is(virama, prev) && unicode.IsLetter(next)
}

func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// flagsBefore counts the regional indicators at the end of s.
func flagsBefore(s string) int {
	for n := 0; ; n++ {
		r, size := utf8.DecodeLastRuneInString(s)
		if !regional(r) || n > 64 {
			return n
		}
		s = s[:len(s)-size]
	}
}

// openFence returns the line that opened the code block s ends in, or "".
func openFence(s string) string {
	open := ""
	for len(s) > 0 {
		var l string
		l, s, _ = strings.Cut(s, "\n")
		if !strings.Contains(l, "```") {
			continue
		}
		l = strings.TrimLeft(l, " >")
		switch {
		case open == "":
			if strings.HasPrefix(l, "```") && !isSpan(l) {
				open = l
			}
		case strings.TrimRight(l, " ") == closing(open):
			open = ""
		}
	}
	return open
}

// closing is the fence that closes the block opened by the line open.
func closing(open string) string {
	return open[:len(open)-len(strings.TrimLeft(open, "`"))]
}
