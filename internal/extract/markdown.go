package extract

import "strings"

// TextOptions says how [Doc.Text] renders.
type TextOptions struct {
	Whole bool // the whole body, not the main part
}

// Text renders the page as Markdown: its main part, or the whole body. The
// main part is the main or article element when that holds most of the text,
// else the body; of a longer page, what helps to get about the site and what
// trails behind an article is left out. A banner that asks for consent comes
// after all else.
func (d *Doc) Text(o TextOptions) string {
	s := selection{top: d.root}
	if !o.Whole {
		s = d.focus()
	}
	f := flow{skip: s.skip, last: d.banner()}
	f.children(s.top)
	text := f.String()
	if b := f.last; b != nil && b != s.top && s.within(b) {
		last := flow{skip: s.skip}
		last.node(b)
		text = strings.TrimLeft(text+"\n\n"+last.String(), "\n")
	}
	return text
}

// maxNest is how deep lists and quotes are indented; deeper ones keep that
// depth, so that a hostile page cannot multiply its length by its depth.
const maxNest = 12

// flow collects the blocks of one level: the page, an item, a quotation.
type flow struct {
	parts []part
	line  line
	nest  int
	skip  marks // what is left out
	last  *node // what is left for the end
}

// part is one finished block. An apart one has empty lines around it.
type part struct {
	text  string
	apart bool
}

func (f *flow) add(text string, apart bool) {
	if text != "" {
		f.parts = append(f.parts, part{text, apart})
	}
}

// flush ends the line that is being collected.
func (f *flow) flush(apart bool) { f.add(f.line.take(), apart) }

func (f *flow) String() string {
	f.flush(false)
	var b strings.Builder
	for i, p := range f.parts {
		if i > 0 {
			b.WriteByte('\n')
			if p.apart || f.parts[i-1].apart {
				b.WriteByte('\n')
			}
		}
		b.WriteString(p.text)
	}
	return b.String()
}

func (f *flow) children(n *node) {
	for _, k := range n.kids {
		f.node(k)
	}
}

func (f *flow) node(n *node) {
	if f.skip.has(n) || n == f.last {
		return
	}
	switch n.kind {
	case blockNode:
		f.flush(false)
		f.block(n)
	case inlineNode:
		if n.hasBlock() {
			f.children(n)
			return
		}
		f.line.inline(n)
	case edgeNode:
		f.flush(false)
	case ruleNode:
		f.flush(false)
		f.add("---", true)
	case collapsedNode:
		f.flush(false)
		f.add(markCollapsed, false)
	case frameNode:
		f.flush(false)
		f.frame(n)
	default:
		f.line.inline(n)
	}
}

// hasBlock reports whether an inline element holds a block, as a link around
// a card does.
func (n *node) hasBlock() bool {
	for _, k := range n.kids {
		switch k.kind {
		case blockNode, edgeNode, ruleNode, frameNode, collapsedNode:
			return true
		case inlineNode:
			if k.hasBlock() {
				return true
			}
		}
	}
	return false
}

// block renders a block; the line before it has been flushed.
func (f *flow) block(n *node) {
	switch n.tag {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if s := flat(n.kids); s != "" {
			f.add(strings.Repeat("#", int(n.tag[1]-'0'))+" "+s, true)
		}
	case "pre":
		f.add(codeBlock(n), true)
	case "code":
		if n.holds(preNode) {
			f.add(codeBlock(n), true)
		} else {
			f.add(codeSpan(flat(n.kids)), false)
		}
	case "blockquote":
		f.add(prefix(f.sub(n), "> ", "> ", f.nest), true)
	case "ul", "ol", "menu":
		f.add(f.list(n), f.nest == 0)
	case "li":
		f.add(prefix(f.sub(n), "- ", "  ", f.nest), false)
	case "dd":
		f.add(prefix(f.sub(n), ": ", "  ", f.nest), false)
	case "table":
		f.table(n)
	case "summary", "button":
		f.line.element(n)
		f.flush(false)
	default:
		f.children(n)
		f.flush(paragraphs[n.tag])
	}
}

// paragraphs are the blocks whose own text stands apart.
var paragraphs = map[string]bool{"p": true, "figcaption": true, "caption": true, "address": true, "legend": true}

// sub renders n's children as a flow of their own.
func (f *flow) sub(n *node) string {
	g := flow{nest: f.nest + 1, skip: f.skip, last: f.last}
	g.children(n)
	return g.String()
}

// holds reports whether there is a node of the kind below n.
func (n *node) holds(kind nodeKind) bool {
	for _, k := range n.kids {
		if k.kind == kind || k.holds(kind) {
			return true
		}
	}
	return false
}

// holdsTag reports whether there is an element of that name below n.
func (n *node) holdsTag(tag string) bool {
	for _, k := range n.kids {
		if k.is(tag) || k.holdsTag(tag) {
			return true
		}
	}
	return false
}

// frame renders a frame's tree between marks, since its text is somebody
// else's page.
func (f *flow) frame(n *node) {
	if len(n.kids) == 0 {
		return
	}
	g := flow{nest: f.nest, skip: f.skip, last: f.last}
	g.children(n.kids[0])
	if s := g.String(); s != "" {
		f.add(markFrame(n.attr("origin"))+"\n"+s+"\n"+markFrameEnd, true)
	}
}

// prefix writes first before the first line of s and rest before the others.
func prefix(s, first, rest string, nest int) string {
	if s == "" || nest >= maxNest {
		return s
	}
	lines := strings.Split(s, "\n")
	var b strings.Builder
	b.Grow(len(s) + len(first) + len(lines)*len(rest))
	for i, l := range lines {
		switch {
		case i == 0:
			b.WriteString(first)
		case l == "":
			b.WriteString("\n" + strings.TrimRight(rest, " "))
			continue
		default:
			b.WriteString("\n" + rest)
		}
		b.WriteString(l)
	}
	return b.String()
}

// codeBlock fences the text of n as it is. The fence is longer than any run
// of backticks in it.
func codeBlock(n *node) string {
	var b strings.Builder
	lang := n.attr("lang")
	writeCode(&b, n, &lang)
	s := strings.TrimRight(Clean(b.String()), " \n")
	s = strings.TrimLeft(s, "\n")
	if s == "" {
		return ""
	}
	fence := strings.Repeat("`", max(3, longestRun(s, '`')+1))
	return fence + language(lang) + "\n" + s + "\n" + fence
}

func writeCode(b *strings.Builder, n *node, lang *string) {
	newline := func() {
		if s := b.String(); s != "" && s[len(s)-1] != '\n' {
			b.WriteByte('\n')
		}
	}
	for _, k := range n.kids {
		switch k.kind {
		case textNode, preNode:
			b.WriteString(k.text)
		case breakNode:
			b.WriteByte('\n')
		case edgeNode, ruleNode:
			newline()
		case inlineNode, blockNode:
			if *lang == "" && k.tag == "code" {
				*lang = k.attr("lang")
			}
			if k.kind == blockNode {
				newline()
			}
			writeCode(b, k, lang)
			if k.kind == blockNode {
				newline()
			}
		}
	}
}

// language keeps a code language to what stands after a fence.
func language(s string) string {
	if len(s) > 20 || strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+#._-") != "" {
		return ""
	}
	return s
}
