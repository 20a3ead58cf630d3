package plain

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// The walker writes the stream that package extract documents, as the script
// that runs in the browser does, from a tree that was never laid out: what a
// rule or an attribute hides is left out, and everything else is taken for
// seen.

// Bounds of a walk, the same as the script's.
const (
	maxNodes = 300_000
	maxChars = 4_000_000
	maxDepth = 1000
	iconSide = 48  // px: images with a smaller side decorate
	maxAlt   = 300 // characters
	maxHref  = 2049
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

var (
	// skipped elements have no text of their own, or none that is shown.
	skipped = words("script style template textarea input select option optgroup datalist head meta link title base noscript " +
		"audio video canvas map area rp col colgroup param source track progress meter noembed noframes iframe frame frameset " +
		"desc metadata defs symbol clipPath mask pattern marker linearGradient radialGradient annotation annotation-xml")
	// blockTags and inlineTags mean something to a reader; others are a div or nothing.
	blockTags = words("a address article aside blockquote button caption code dd details dialog dl dt fieldset figcaption figure footer form " +
		"h1 h2 h3 h4 h5 h6 header label legend li main menu nav ol p pre search section summary table tbody td tfoot th thead tr ul")
	inlineTags = words("a button code del rt s samp strike summary sup tt mfrac msup msub msubsup msqrt mrow")
	// always are blocks whatever their display is.
	always = words("li ul ol dl dt dd pre table tr td th")
	roles  = words("main navigation banner contentinfo complementary search dialog alertdialog presentation none article")

	// How browsers display elements; those in neither list are inline.
	asBlock = words("html body address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form " +
		"h1 h2 h3 h4 h5 h6 header hgroup hr legend li listing main menu nav ol p plaintext pre search section summary ul xmp " +
		"table caption tbody thead tfoot tr td th foreignObject text")
	asInlineBlock = words("button")
)

// state is what an element's surroundings say about its text.
type state struct {
	gone     bool // it cannot be seen, whatever is set further down
	hidden   bool // visibility, which can be set anew further down
	tiny     bool // font size
	indented bool
	fades    float64 // what opacity has taken away so far, of 1
	laid     bool    // it is in a flex or grid container, whose children are blocks
	white    string  // the white-space property, "" for normal
	ink, bg  colour
	drawn    bool // something else than ink draws the letters
	pre      bool // inside a pre element
	code     bool // inside one for code
}

func (st *state) unseen() bool {
	if st.gone || st.hidden || st.tiny || st.indented {
		return true
	}
	return !st.drawn && st.ink.known && (st.ink.alpha < .1 || near(st.ink, st.bg))
}

type walker struct {
	sheet    *sheet
	noscript bool // contents of noscript elements are shown

	out     []byte
	opened  []string
	written int

	flow, spaced, atomic, last bool
	nodes, depth               int
	cut, formulas              bool
	placeholders               int // of templates, in sight
}

func (w *walker) write(kind byte, rest string) {
	w.out = append(w.out, kind)
	w.out = append(w.out, rest...)
	w.out = append(w.out, '\n')
	if len(w.out) > maxChars {
		w.cut = true
	}
}

var escaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

func escape(s string) string {
	if strings.ContainsAny(s, "\\\n\r\t") {
		return escaper.Replace(s)
	}
	return s
}

func (w *walker) edge() { w.flow, w.spaced, w.atomic, w.last = false, false, false, false }

func (w *walker) flush() {
	for ; w.written < len(w.opened); w.written++ {
		w.write(w.opened[w.written][0], w.opened[w.written][1:])
	}
}

func (w *walker) close() bool {
	is := w.written == len(w.opened)
	w.opened = w.opened[:len(w.opened)-1]
	if is {
		w.written--
		w.write('>', "")
	}
	return is
}

// --- text ------------------------------------------------------------------------

func preserved(white string) bool {
	return white == "pre" || white == "pre-wrap" || white == "break-spaces"
}

func (w *walker) text(data string, st *state) {
	if w.nodes++; w.nodes > maxNodes {
		w.cut = true
	}
	if strings.Trim(data, " \t\n\r\f") == "" {
		w.blank(data, st)
		return
	}
	if st.unseen() {
		return
	}
	if !st.code && strings.Contains(data, "{{") && strings.Contains(data, "}}") {
		w.placeholders++
	}
	w.flush()
	if preserved(st.white) {
		w.write('P', escape(data))
		last := data[len(data)-1]
		w.flow, w.spaced, w.atomic, w.last = true, last == ' ', false, true
		return
	}
	if st.white == "pre-line" {
		data = squeezeLines(data)
	} else {
		data = squeeze(data)
	}
	if w.last && !w.spaced && w.atomic && data[0] != ' ' && !strings.ContainsRune(".,;:!?)]}%»”’", []rune(data)[0]) {
		data = " " + data
	}
	w.write('T', escape(data))
	w.flow, w.spaced, w.atomic, w.last = true, data[len(data)-1] == ' ', false, true
}

// blank writes white space between runs, once; it opens no element.
func (w *walker) blank(data string, st *state) {
	switch {
	case !w.flow || data == "" || st.unseen():
	case preserved(st.white):
		w.flush()
		w.write('P', escape(data))
		w.spaced, w.last = true, false
	case !w.spaced:
		w.write('T', " ")
		w.spaced = true
	}
}

// squeeze makes every run of white space one space.
func squeeze(s string) string {
	dirty := false
	for i := 0; i < len(s); i++ {
		if isSpace(s[i]) && (s[i] != ' ' || i > 0 && s[i-1] == ' ') {
			dirty = true
			break
		}
	}
	if !dirty {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case !isSpace(s[i]):
			b = append(b, s[i])
		case len(b) == 0 || b[len(b)-1] != ' ':
			b = append(b, ' ')
		}
	}
	return string(b)
}

func squeezeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Trim(squeeze(l), " ")
	}
	return strings.Join(lines, "\n")
}

// --- elements --------------------------------------------------------------------

// display works out how n is displayed: "none", "inline", "inline-block",
// "contents", or "block" for all that has edges.
func display(n *html.Node, v *values) string {
	if v != nil {
		switch set := v[propDisplay]; {
		case set == "", set == "inherit", set == "initial", set == "unset", set == "revert":
		case set == "none", set == "contents", set == "inline":
			return set
		case strings.HasPrefix(set, "inline"):
			return "inline-block"
		default:
			return "block"
		}
	}
	if _, hidden := lookup(n, "hidden"); hidden {
		return "none"
	}
	if _, open := lookup(n, "open"); n.Data == "dialog" && !open {
		return "none"
	}
	if _, popover := lookup(n, "popover"); popover {
		return "none"
	}
	switch {
	case n.Data == "slot":
		return "contents"
	case n.Data == "text" && n.Namespace != "svg":
		return "inline"
	case asBlock[n.Data]:
		return "block"
	case asInlineBlock[n.Data]:
		return "inline-block"
	}
	return "inline"
}

// frame is what is known about one element on the way down.
type frame struct {
	n     *html.Node
	st    state                   // of what is in it
	slots map[string][]*html.Node // of the shadow tree that n is in
}

func (w *walker) visit(n *html.Node, up *frame) {
	if w.nodes++; w.nodes > maxNodes || w.depth > maxDepth {
		w.cut = true
	}
	tag := n.Data
	if w.cut || skipped[tag] && !(tag == "noscript" && w.noscript) || tag == "img" && attr(n, "alt") == "" {
		return
	}
	v := w.sheet.styleOf(n)
	shown := display(n, v)
	if up.st.laid && strings.HasPrefix(shown, "inline") {
		shown = "block"
	}
	if shown == "none" {
		if attr(n, "hidden") == "until-found" {
			w.flush()
			w.write('C', "")
			w.edge()
		}
		return
	}
	switch tag {
	case "br":
		if w.flow {
			w.write('/', "")
		}
		w.spaced, w.atomic, w.last = true, false, false
		return
	case "hr":
		w.flush()
		w.write('-', "")
		w.edge()
		return
	}
	if up.st.pre && v != nil && v[propUserSelect] == "none" {
		return // line numbers, prompts and buttons are not the code
	}
	p := &frame{n: n, st: inherit(n, v, shown, up.st), slots: up.slots}
	if tag == "img" {
		w.image(n, &p.st)
		return
	}
	w.enter(tag, p, shown)
}

// inherit is the state of what is in n.
func inherit(n *html.Node, v *values, shown string, st state) state {
	st.laid = st.laid && shown == "contents"
	switch n.Data {
	case "pre", "listing", "xmp", "plaintext":
		st.white, st.pre, st.code = "pre", true, true
	case "code", "samp", "kbd":
		st.code = true
	}
	if v == nil {
		return st
	}
	switch v[propVisibility] {
	case "hidden", "collapse":
		st.hidden = true
	case "visible":
		st.hidden = false
	}
	if size, ok := length(v[propFontSize], 16); ok {
		st.tiny = size < legible && !strings.HasSuffix(v[propFontSize], "em")
	}
	switch white := v[propWhiteSpace]; white {
	case "":
	case "pre", "pre-wrap", "break-spaces", "pre-line":
		st.white = white
	case "normal", "nowrap", "initial":
		st.white = ""
	}
	if v[propTextIndent] != "" {
		st.indented = v.indented()
	}
	if shown != "contents" {
		st.fades = 1 - (1-st.fades)*v.opacity()
		st.gone = st.gone || st.fades > .9 || v.vanished()
		st.laid = strings.Contains(v[propDisplay], "flex") || strings.Contains(v[propDisplay], "grid")
	}
	if v[propPosition] != "" && v[propPosition] != "static" {
		st.bg = colour{} // what it lies on is not what it stands in
	}
	if c, sets := backdrop(v[propBackground]); sets {
		st.bg = c
	}
	if l := v[propLetters]; l != "" && l != "none" && !strings.Contains(l, "-box") {
		st.drawn = true
	}
	ink := v[propColor]
	if v[propFill] != "" {
		ink = v[propFill]
	}
	if ink != "" && ink != "inherit" {
		st.ink = parseColour(ink)
	}
	return st
}

func (w *walker) enter(tag string, p *frame, shown string) {
	inline := shown == "inline" || shown == "contents" || tag == "ruby" || tag == "rt" || tag == "math"
	block := shown == "block" && !inline || always[tag]
	line := w.openLine(p.n, tag, block)
	had := w.flow
	switch {
	case block:
		w.edge()
	case !inline:
		w.atomic = true
	}
	if line != "" {
		w.opened = append(w.opened, line)
	}
	if tag == "td" || tag == "th" {
		w.flush() // an empty cell keeps its column
	}
	w.depth++
	w.children(tag, p)
	w.depth--
	is := line != "" && w.close()
	if block {
		w.edge()
		if had && !is {
			w.write('|', "")
		}
	} else if !inline {
		w.atomic = true
	}
}

// children visits what is in p, by way of its shadow tree if the document
// declares one.
func (w *walker) children(tag string, p *frame) {
	if tag == "slot" && p.slots != nil {
		name := attr(p.n, "name")
		if nodes := p.slots[name]; len(nodes) > 0 {
			delete(p.slots, name) // the first slot of a name has them all
			outer := *p
			outer.slots = nil
			for _, n := range nodes {
				w.node(n, &outer)
			}
			return
		}
	}
	_, open := lookup(p.n, "open")
	closed, summary := tag == "details" && !open, false
	if root := shadowOf(p.n); root != nil {
		p.slots = map[string][]*html.Node{}
		for k := p.n.FirstChild; k != nil; k = k.NextSibling {
			if k != root && (k.Type == html.TextNode || k.Type == html.ElementNode) {
				p.slots[attr(k, "slot")] = append(p.slots[attr(k, "slot")], k)
			}
		}
		for k := root.FirstChild; k != nil; k = k.NextSibling {
			w.node(k, p)
		}
		return
	}
	for k := p.n.FirstChild; k != nil; k = k.NextSibling {
		if closed { // of closed details only the summary shows
			if summary || k.Type != html.ElementNode || k.Data != "summary" {
				continue
			}
			summary = true
		}
		w.node(k, p)
	}
}

// shadowOf finds the template that declares n's shadow tree.
func shadowOf(n *html.Node) *html.Node {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.Type == html.ElementNode && k.Data == "template" {
			if mode := attr(k, "shadowrootmode"); mode == "open" || mode == "closed" {
				return k
			}
		}
	}
	return nil
}

func (w *walker) node(n *html.Node, p *frame) {
	if w.cut {
		return
	}
	switch n.Type {
	case html.ElementNode:
		w.visit(n, p)
	case html.TextNode:
		w.text(n.Data, &p.st)
	}
}

func (w *walker) image(n *html.Node, st *state) {
	alt := strings.TrimSpace(squeeze(attr(n, "alt")))
	if alt == "" || st.gone || st.hidden {
		return
	}
	w.flush()
	kind := byte('i')
	if min(side(n, "width"), side(n, "height")) >= iconSide {
		kind = 'I'
	}
	w.write(kind, escape(clip(alt, maxAlt)))
	w.flow, w.spaced, w.atomic, w.last = true, false, true, false
}

func side(n *html.Node, name string) int {
	s := attr(n, name)
	end := 0
	for end < len(s) && end < 6 && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	v, _ := strconv.Atoi(s[:end])
	return v
}

// clip cuts s to n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
