package digest

import (
	"fmt"
	"slices"
	"strings"
)

// Diff is what is different between two pages.
type Diff struct {
	NewDocument bool // nothing can be compared
	Title       bool // the title changed
	URL         bool // the address changed
	Scrolled    bool

	Added   []Element
	Changed []Element // as they are now; another name, target, row, state or value
	Removed []Element // as they were

	TextAdded   []string // lines
	TextRemoved []string
	TextElse    bool // text changed beyond the lines that were looked at
}

// Since compares p with an earlier page. What has the focus, and what is in
// view, is no difference.
func (p *Page) Since(prev *Page) Diff {
	if prev == nil || prev.Doc != p.Doc {
		return Diff{NewDocument: true}
	}
	d := Diff{Title: p.Title != prev.Title, URL: p.URL != prev.URL, Scrolled: p.Above != prev.Above}
	was := make(map[int]*Element, len(prev.Elements))
	for i := range prev.Elements {
		was[prev.Elements[i].Index] = &prev.Elements[i]
	}
	for i := range p.Elements {
		e := &p.Elements[i]
		w := was[e.Index]
		delete(was, e.Index)
		switch {
		case w == nil:
			d.Added = append(d.Added, *e)
		case e.differs(w):
			d.Changed = append(d.Changed, *e)
		}
	}
	for i := range prev.Elements {
		if was[prev.Elements[i].Index] != nil {
			d.Removed = append(d.Removed, prev.Elements[i])
		}
	}
	d.TextRemoved, d.TextAdded = lineDiff(prev.Lines, p.Lines)
	d.TextElse = len(d.TextAdded)+len(d.TextRemoved) == 0 && (p.Chars != prev.Chars || p.TextHash != prev.TextHash)
	return d
}

// differs reports that a person would see a difference in the element itself.
func (e *Element) differs(w *Element) bool {
	a, b := *e, *w
	a.Focused, b.Focused = false, false
	if a.Row == "" || b.Row == "" {
		a.Row, b.Row = "", ""
	}
	if a.InView != b.InView {
		a.Covered, b.Covered = false, false
	}
	if sameLine(&a, &b) {
		return false
	}
	o := lineOptions{query: true, row: true}
	return a.line(o) != b.line(o)
}

// sameLine reports that two elements agree in all that a line is written from,
// the index and the group apart.
func sameLine(a, b *Element) bool {
	return a.Tag == b.Tag && a.Type == b.Type && a.Role == b.Role && a.Name == b.Name && a.Href == b.Href && a.Row == b.Row && a.Origin == b.Origin &&
		a.Value == b.Value && a.Choices == b.Choices && slices.Equal(a.Options, b.Options) && a.Min == b.Min && a.Max == b.Max &&
		a.Checked == b.Checked && a.Pressed == b.Pressed && a.Expanded == b.Expanded && a.Selected == b.Selected &&
		a.Current == b.Current && a.Disabled == b.Disabled && a.ReadOnly == b.ReadOnly && a.Required == b.Required && a.Invalid == b.Invalid &&
		a.Multiple == b.Multiple && a.Focused == b.Focused && a.Covered == b.Covered && a.Editable == b.Editable && a.Protected == b.Protected
}

// Empty reports that nothing a person could see is different.
func (d Diff) Empty() bool {
	return !d.NewDocument && !d.Title && !d.URL && !d.Scrolled && len(d.Added)+len(d.Changed)+len(d.Removed)+len(d.TextAdded)+len(d.TextRemoved) == 0 && !d.TextElse
}

// String says what is different, in one line that holds no string of the
// page: "2 elements added, 1 changed; text changed", or "no visible change".
func (d Diff) String() string {
	if d.NewDocument {
		return "a new page"
	}
	var parts []string
	if d.URL {
		parts = append(parts, "URL changed")
	}
	if d.Title {
		parts = append(parts, "title changed")
	}
	var n []string
	for _, c := range []struct {
		n    int
		what string
	}{{len(d.Added), "added"}, {len(d.Removed), "removed"}, {len(d.Changed), "changed"}} {
		switch {
		case c.n == 0:
		case len(n) > 0:
			n = append(n, fmt.Sprintf("%d %s", c.n, c.what))
		case c.n == 1:
			n = append(n, "1 element "+c.what)
		default:
			n = append(n, fmt.Sprintf("%d elements %s", c.n, c.what))
		}
	}
	if len(n) > 0 {
		parts = append(parts, strings.Join(n, ", "))
	}
	if d.TextElse || len(d.TextAdded)+len(d.TextRemoved) > 0 {
		parts = append(parts, "text changed")
	}
	if d.Scrolled {
		parts = append(parts, "scrolled")
	}
	if len(parts) == 0 {
		return "no visible change"
	}
	return strings.Join(parts, "; ")
}

// lineDiff lists the lines that only one of two texts has, in their order.
func lineDiff(was, now []string) (removed, added []string) {
	count := map[string]int{}
	for _, l := range was {
		count[l]++
	}
	for _, l := range now {
		if count[l] > 0 {
			count[l]--
		} else {
			added = append(added, l)
		}
	}
	for _, l := range slices.Backward(was) {
		if count[l] > 0 {
			count[l]--
			removed = append(removed, l)
		}
	}
	slices.Reverse(removed)
	return removed, added
}

// RenderSince writes the differences from an earlier generation, if that can
// be done in less than half of what the whole digest takes; else "".
//
//	Page: Shop
//	URL: https://shop.example/   HTTP 200
//	Generation: 8 (pass as "generation" to browser_click/browser_fill)
//	Changes since generation 7; every other element is as it was (browser_state full=true lists all 143)
//	New elements:
//	[150] button "Undo"
//	Changed elements:
//	[12] button "In cart" in row "Lamp · $40"
//	Gone elements: 13, 15
//
//	untrusted_page_text 8f3a (changed lines):
//	+ 1 in cart
//	- 0 in cart
//	end 8f3a
func (p *Page) RenderSince(prev *Page, o RenderOptions) string {
	d := p.Since(prev)
	if d.NewDocument || o.Offset > 0 || len(d.Added)+len(d.Changed) > MaxElements {
		return ""
	}
	var b strings.Builder
	p.writeHead(&b, o)
	fmt.Fprintf(&b, "Changes since generation %d; every other element is as it was (browser_state full=true lists all %d)\n", prev.Generation, len(p.Elements))
	p.writeChanged(&b, "New elements:\n", d.Added, o)
	p.writeChanged(&b, "Changed elements:\n", d.Changed, o)
	if len(d.Removed) > 0 {
		b.WriteString("Gone elements: " + gone(d.Removed) + "\n")
	}
	if len(d.Added)+len(d.Changed)+len(d.Removed) == 0 {
		b.WriteString("Elements: unchanged\n")
	}
	if !o.NoText {
		b.WriteString(textChanges(d, o))
	}
	if full := p.Render(o); b.Len()*2 >= len(full) {
		return ""
	}
	return b.String()
}

func (p *Page) writeChanged(b *strings.Builder, heading string, list []Element, o RenderOptions) {
	if len(list) == 0 {
		return
	}
	alike := p.alike()
	b.WriteString(heading)
	for i := range list {
		b.WriteString(p.lineOf(&list[i], o, alike) + "\n")
	}
}

// gone lists indices, runs of them as 3-7.
func gone(list []Element) string {
	var n []int
	for i := range list {
		n = append(n, list[i].Index)
	}
	slices.Sort(n)
	var parts []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d-%d", n[i], n[j]))
		} else {
			parts = append(parts, fmt.Sprint(n[i]))
		}
		i = j + 1
	}
	return cut(strings.Join(parts, ", "), maxEvents)
}

func textChanges(d Diff, o RenderOptions) string {
	if len(d.TextAdded)+len(d.TextRemoved) == 0 {
		if d.TextElse {
			return "Text: changed further down (browser_extract for it)\n"
		}
		return "Text: unchanged\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nuntrusted_page_text %s (changed lines):\n", o.Nonce)
	room := MaxText
	for _, part := range []struct {
		sign  string
		lines []string
	}{{"+ ", d.TextAdded}, {"- ", d.TextRemoved}} {
		for _, l := range part.lines {
			if room <= 0 {
				b.WriteString(part.sign + "…\n")
				break
			}
			l = cut(oneLine(l), min(room, 300))
			room -= len([]rune(l)) + 3
			b.WriteString(part.sign + l + "\n")
		}
	}
	fmt.Fprintf(&b, "end %s\n", o.Nonce)
	return b.String()
}
