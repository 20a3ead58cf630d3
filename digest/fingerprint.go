package digest

import (
	"regexp"
	"strconv"
	"strings"
)

// Fingerprint is what an index is bound to: frame, document, node, role,
// name, type, link target and row. Two looks at one control that does the
// same thing give the same fingerprint; state, value and place are no part of
// it.
func (e Element) Fingerprint() string {
	return strings.Join([]string{e.Frame, e.Doc, strconv.FormatInt(e.Node, 10), e.Role, e.Name, e.Tag, e.Type, e.Href, e.Action, steady(e.Row)}, "\x00")
}

// same reports whether two looks show the same control. A row counts only
// when both have one: that a list has got its second row makes it no other
// control. It compares what [Element.Fingerprint] holds, without writing that
// for each of some thousand elements.
func same(a, b *Element) bool {
	if a.Frame != b.Frame || a.Doc != b.Doc || a.Node != b.Node || a.Role != b.Role || a.Name != b.Name ||
		a.Tag != b.Tag || a.Type != b.Type || a.Href != b.Href || a.Action != b.Action {
		return false
	}
	return a.Row == b.Row || a.Row == "" || b.Row == "" || steady(a.Row) == steady(b.Row)
}

// steady replaces what ticks in the text of a row: clocks with seconds, and
// spans of time that say that they run. "3:00 pm" stays.
func steady(row string) string {
	if !strings.ContainsAny(row, "0123456789") {
		return row
	}
	return ticking.ReplaceAllStringFunc(row, func(s string) string { return digits.ReplaceAllString(s, "0") })
}

var (
	ticking = regexp.MustCompile(`(?i)\b\d{1,3}:\d\d:\d\d\b|\b\d+\s?(?:s|sec|secs|seconds?)\b(?: ago| left)?|\b(?:\d+\s?(?:m|min|mins|minutes?|h|hours?|d|days?)\s?)+(?:\d+\s?s(?:ec)?\b|ago\b|left\b|remaining\b)`)
	digits  = regexp.MustCompile(`\d+`)
)
