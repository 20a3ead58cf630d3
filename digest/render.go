package digest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// RenderOptions says how a digest is written. The zero value writes all the
// limits allow, from the first element.
type RenderOptions struct {
	// Nonce closes the page's text: letters and digits that the page cannot
	// have known, fresh for every result. It must not be empty.
	Nonce string
	// Offset is how many elements, in the order of the page, to leave out.
	Offset int
	// Elements is the most that are listed. If zero, [MaxElements].
	Elements int
	// Bytes is the most that is written. If zero, [MaxBytes].
	Bytes int
	// KeepQuery writes the query of links; otherwise it is left out.
	KeepQuery bool
	// NoText leaves the page's text out.
	NoText bool
}

// lessText is how many code points of text go with a full list of elements: a
// whole digest is to take some 2,250 tokens (of o200k) at most.
const lessText = 800

// minText is how many bytes of a digest are kept for the page's text when
// there is that much.
const minText = 1600

// Render writes the digest:
//
//	Page: Pricing — Vendor
//	URL: https://vendor.example/pricing   HTTP 200
//	Generation: 7 (pass as "generation" to browser_click/browser_fill)
//	Events: dialog dismissed: confirm "Leave?"
//
//	Interactive elements:
//	[0] link "Products" -> /products
//	[2] input(email) "Work email"
//	[3] input(password) "Password" ⚠ fill-protected
//	(elements 0-99 of 143; browser_state offset=100 for the rest)
//
//	untrusted_page_text 8f3a (first 1200 of 9400 chars; browser_extract for more):
//	...
//	end 8f3a
//
// It never exceeds the limit on bytes, and no string of the page begins a line
// of its own or ends the fence.
func (p *Page) Render(o RenderOptions) string {
	if o.Nonce == "" {
		panic("digest: no nonce")
	}
	if o.Bytes <= 0 {
		o.Bytes = MaxBytes
	}
	if o.Elements <= 0 {
		o.Elements = MaxElements
	}
	var b strings.Builder
	p.writeHead(&b, o)
	b.WriteByte('\n')
	text := ""
	if !o.NoText {
		limit := MaxText
		if len(p.Elements)-o.Offset >= MaxElements {
			limit = lessText
		}
		text = p.textBlock(o, limit)
	}
	room := o.Bytes - b.Len() - min(len(text), minText)
	b.WriteString(p.list(o, room, max(maxWeight-weigh(b.String())-weigh(text), maxWeight/2)))
	if text != "" {
		b.WriteString("\n")
		if b.Len()+len(text) > o.Bytes {
			text = p.fit(o, o.Bytes-b.Len())
		}
		b.WriteString(text)
	}
	return b.String()
}

func (p *Page) writeHead(b *strings.Builder, o RenderOptions) {
	fmt.Fprintf(b, "Page: %s\n", header(p.Title, MaxTitle))
	fmt.Fprintf(b, "URL: %s", bare(p.URL, MaxURL))
	if p.HTTPStatus > 0 {
		fmt.Fprintf(b, "   HTTP %d", p.HTTPStatus)
	}
	fmt.Fprintf(b, "\nGeneration: %d (pass as \"generation\" to browser_click/browser_fill)\n", p.Generation)
	if len(p.Events) > 0 {
		fmt.Fprintf(b, "Events: %s\n", events(p.Events))
	}
	for _, f := range p.More {
		fmt.Fprintf(b, "%s: %s\n", word(f.Key), header(f.Value, MaxURL))
	}
	if p.HiddenChars > 0 {
		fmt.Fprintf(b, "Hidden: %d characters in %d blocks that no person could see, left out\n", p.HiddenChars, p.HiddenBlocks)
	}
	if p.Above > 0 || p.Below > 0 {
		fmt.Fprintf(b, "Scroll: %d px above, %d px below\n", p.Above, p.Below)
	}
}

// maxEvents bounds what events take of a digest, in code points.
const maxEvents = 800

func events(all []string) string {
	var parts []string
	n := 0
	for i, e := range all {
		e = header(e, MaxTitle)
		if n += len(e) + 2; n > maxEvents {
			parts = append(parts, fmt.Sprintf("… +%d more", len(all)-i))
			break
		}
		parts = append(parts, e)
	}
	return strings.Join(parts, "; ")
}

// list writes the elements, in at most room bytes and about weight tokens.
func (p *Page) list(o RenderOptions, room, weight int) string {
	total := len(p.Elements)
	if total == 0 {
		return "Interactive elements: none found\n"
	}
	from := min(max(o.Offset, 0), total)
	to := min(from+o.Elements, total)
	lines := p.lines(o, from, to)
	const heading = "Interactive elements:\n"
	room -= len(heading) + len(rangeLine(total, total, total))
	n := 0
	for n < len(lines) && room >= len(lines[n])+1 && weight > 0 {
		room -= len(lines[n]) + 1
		weight -= weigh(lines[n]) + 1
		n++
	}
	var b strings.Builder
	b.WriteString(heading)
	for _, l := range lines[:n] {
		b.WriteString(l + "\n")
	}
	if from > 0 || from+n < total {
		b.WriteString(rangeLine(from, from+n, total))
	}
	return b.String()
}

// rangeLine says which elements were listed, and how to get the others.
func rangeLine(from, to, total int) string {
	which := fmt.Sprintf("elements %d-%d of %d", from, to-1, total)
	if to <= from {
		which = "no elements listed of " + strconv.Itoa(total)
	}
	if to >= total {
		return "(" + which + ")\n"
	}
	return fmt.Sprintf("(%s; browser_state offset=%d for the rest)\n", which, to)
}

// wholeRows is up to how many elements each line names its row, also that of the
// line before: where there is room, a line is to be read by itself.
const wholeRows = 50

// lines writes the lines of elements from to to.
func (p *Page) lines(o RenderOptions, from, to int) []string {
	alike := p.alike()
	var out []string
	row, of := "", map[said]bool{} // the row named last, and what was listed of it
	for i := from; i < to; i++ {
		e := &p.Elements[i]
		l := p.lineOptions(e, o, alike)
		if l.row {
			// Two of a kind are of two rows that read the same.
			if l.same = len(p.Elements) > wholeRows && e.Row != "" && e.Row == row && !of[e.said()]; !l.same {
				row = e.Row
				clear(of)
			}
			of[e.said()] = true
		}
		out = append(out, e.line(l))
	}
	return out
}

// said is what tells elements apart without their row.
type said struct{ label, name, origin string }

// alike counts the elements that label and name do not tell apart.
func (p *Page) alike() map[said]int {
	count := make(map[said]int, len(p.Elements))
	for i := range p.Elements {
		count[p.Elements[i].said()]++
	}
	return count
}

func (e *Element) said() said { return said{e.Label(), e.Name, e.Origin} }

// lineOf writes the line of an element.
func (p *Page) lineOf(e *Element, o RenderOptions, alike map[said]int) string {
	return e.line(p.lineOptions(e, o, alike))
}

// lineOptions: the row of an element, or its group, is named where label and
// name alone would not tell it from others.
func (p *Page) lineOptions(e *Element, o RenderOptions, alike map[said]int) lineOptions {
	twin := alike[e.said()] > 1
	return lineOptions{page: p.URL, query: o.KeepQuery, row: twin, group: twin || e.Checked != None}
}

// textBlock writes the page's text in its fence, at most limit code points.
func (p *Page) textBlock(o RenderOptions, limit int) string {
	if p.Chars == 0 && len(p.Lines) == 0 {
		return "untrusted_page_text " + o.Nonce + " (none):\nend " + o.Nonce + "\n"
	}
	var b strings.Builder
	n, whole := 0, true
	for i, l := range p.Lines {
		if i > 0 {
			n++
		}
		if n >= limit {
			whole = false
			break
		}
		l = textLine(l)
		if k := utf8.RuneCountInString(l); k > limit-n {
			l, whole = cut(l, limit-n), false
			n = limit
		} else {
			n += k
		}
		b.WriteString(l + "\n")
		if !whole {
			break
		}
	}
	head := "untrusted_page_text " + o.Nonce + ":\n"
	if !whole || p.Chars > n+len(p.Lines) {
		head = fmt.Sprintf("untrusted_page_text %s (first %d of %d chars; browser_extract for more):\n", o.Nonce, n, max(p.Chars, n))
	}
	return head + b.String() + "end " + o.Nonce + "\n"
}

// fit writes as much of the text as fits in room bytes, or nothing.
func (p *Page) fit(o RenderOptions, room int) string {
	lo, hi, best := 0, MaxText, ""
	for lo <= hi {
		mid := (lo + hi) / 2
		if s := p.textBlock(o, mid); len(s) <= room {
			best, lo = s, mid+1
		} else {
			hi = mid - 1
		}
	}
	return best
}
