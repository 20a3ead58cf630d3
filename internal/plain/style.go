package plain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// values are the properties that rules and the style attribute set on one
// element; "" is not set.
type values [propCount]string

// inlineRank is above that of every rule.
const inlineRank = 1 << 63

// cascade works out which of several declarations holds. It is kept from one
// element to the next: most have hardly any.
type cascade struct {
	values values
	ranks  [propCount]struct {
		important bool
		rank      uint64
	}
	set []property // what is in values
}

func (c *cascade) clear() {
	for _, p := range c.set {
		c.values[p], c.ranks[p].important, c.ranks[p].rank = "", false, 0
	}
	c.set = c.set[:0]
}

func (c *cascade) apply(ds []declaration, rank uint64) {
	for i := range ds {
		d := &ds[i]
		best := &c.ranks[d.prop]
		if d.important != best.important && !d.important || d.important == best.important && rank < best.rank {
			continue
		}
		best.important, best.rank = d.important, rank
		c.values[d.prop] = d.value
		c.set = append(c.set, d.prop)
	}
}

// styleOf works out what an element's author set on it; nil is nothing. It is
// good until the next call.
func (s *sheet) styleOf(n *html.Node) *values {
	c := &s.cascade
	c.clear()
	try := func(rules []*rule) {
		for _, r := range rules {
			if r.match(&s.matcher, n) {
				c.apply(r.declarations, r.rank)
			}
		}
	}
	if s.rules > 0 {
		if id := attr(n, "id"); id != "" {
			try(s.byID[id])
		}
		for class := range strings.FieldsSeq(attr(n, "class")) {
			try(s.byClass[class])
		}
		try(s.byTag[n.Data])
		try(s.rest)
	}
	if own := attr(n, "style"); own != "" {
		c.apply(inlineDeclarations(own), inlineRank)
	}
	if len(c.set) == 0 {
		return nil
	}
	return &c.values
}

// inlineDeclarations parses a style attribute.
func inlineDeclarations(text string) []declaration {
	if len(text) > 64<<10 {
		return nil
	}
	var out []declaration
	p := css.NewParser(parse.NewInputString(text), true)
	for {
		kind, _, data := p.Next()
		switch kind {
		case css.ErrorGrammar:
			if !p.HasParseError() {
				return out
			}
		case css.DeclarationGrammar:
			if d, ok := declare(string(data), p.Values()); ok {
				out = append(out, d)
			}
		}
	}
}

// --- what the values mean ------------------------------------------------------

// legible is the least height of a line, and the least side of a box, in
// pixels, that a person can read, and away how far off text is put that nobody
// is to see.
const (
	legible = 4
	away    = -900
	reach   = 4 // viewport widths: nobody scrolls further sideways to read
)

// vanished reports that what is in an element cannot be seen, whatever its
// descendants set: by its clip, size, place or transform.
func (v *values) vanished() bool {
	fixed := v[propPosition] == "fixed"
	positioned := fixed || v[propPosition] == "absolute"
	clipped := v[propOverflow] != "" && v[propOverflow] != "visible" || v[propContentVisibility] == "auto" ||
		strings.Contains(v[propContain], "strict") || strings.Contains(v[propContain], "paint") || v[propContain] == "content"
	switch {
	case v[propContentVisibility] == "hidden":
		return true
	case positioned && (emptyRect(v[propClip]) || below(v[propLeft], away) || below(v[propTop], away) || beyond(v[propLeft], reach*viewportWidth)),
		fixed && (beyond(v[propTop], viewportHeight) || beyond(v[propLeft], viewportWidth)), emptyShape(v[propClipPath]):
		return true
	case clipped && (small(v[propWidth]) || small(v[propHeight]) || small(v[propMaxWidth]) || small(v[propMaxHeight]) ||
		v[propLineHeight] == "0" || small(v[propLineHeight]) || v[propTextIndent] == "100%" || beyond(v[propTextIndent], viewportWidth)):
		return true
	case scaledAway(v[propZoom]), scaledAway(v[propScale]), strings.HasPrefix(v[propLetterSpacing], "-") && below(v[propLetterSpacing], -14):
		return true
	}
	if v.animated() { // once it has ended, it may show what its element hides
		return false
	}
	first, second, _ := strings.Cut(v[propTranslate], " ")
	return movedAway(v[propTransform]) || far(first) || far(second) || blurred(v[propFilter])
}

func (v *values) animated() bool { return v[propAnimation] != "" && v[propAnimation] != "none" }

// opacity is what is left of an element after opacity and filter.
func (v *values) opacity() float64 {
	if v.animated() {
		return 1
	}
	left := fraction(v[propOpacity])
	if _, arg, ok := strings.Cut(v[propFilter], "opacity("); ok {
		arg, _, _ = strings.Cut(arg, ")")
		left *= fraction(arg)
	}
	return left
}

// fraction parses a number or a percentage; 1 for what is neither.
func fraction(s string) float64 {
	p, percent := strings.CutSuffix(s, "%")
	n, err := strconv.ParseFloat(p, 64)
	switch {
	case err != nil:
		return 1
	case percent:
		n /= 100
	}
	return min(max(n, 0), 1)
}

// blurred reports a blur of a third of an ordinary letter or more.
func blurred(filter string) bool {
	_, arg, ok := strings.Cut(filter, "blur(")
	arg, _, _ = strings.Cut(arg, ")")
	return ok && beyond(arg, 16./3)
}

func beyond(s string, limit float64) bool {
	n, ok := length(s, viewportWidth)
	return ok && n >= limit
}

func scaledAway(s string) bool {
	first, _, _ := strings.Cut(s, " ")
	n, err := strconv.ParseFloat(strings.TrimSuffix(first, "%"), 64)
	if strings.HasSuffix(first, "%") {
		n /= 100
	}
	return err == nil && n < .05 && n > -.05
}

func below(s string, limit float64) bool {
	n, ok := length(s, viewportWidth)
	return ok && n <= limit
}

func small(s string) bool {
	n, ok := length(s, viewportWidth)
	return ok && n < legible
}

// emptyRect recognises the clip property with no area left: rect(0 0 0 0),
// rect(1px, 1px, 1px, 1px).
func emptyRect(s string) bool {
	inner, ok := strings.CutPrefix(s, "rect(")
	if !ok {
		return false
	}
	f := strings.FieldsFunc(strings.TrimSuffix(inner, ")"), func(r rune) bool { return r == ' ' || r == ',' })
	if len(f) != 4 {
		return false
	}
	var n [4]float64
	for i, s := range f {
		if n[i], ok = length(s, 0); !ok {
			return false
		}
	}
	return n[2]-n[0] < legible || n[1]-n[3] < legible
}

// emptyShape recognises shapes of clip-path without area.
func emptyShape(s string) bool {
	name, inner, ok := strings.Cut(s, "(")
	if !ok {
		return false
	}
	f := strings.FieldsFunc(strings.TrimSuffix(inner, ")"), func(r rune) bool { return r == ' ' || r == ',' })
	if len(f) == 0 {
		return false
	}
	switch name {
	case "inset":
		n, ok := length(f[0], 100)
		return ok && strings.HasSuffix(f[0], "%") && n >= 50
	case "circle", "ellipse":
		n, ok := length(f[0], 100)
		return ok && n < legible/2
	case "xywh":
		return len(f) > 3 && (small(f[2]) || small(f[3]))
	case "polygon": // of points that are all the same
		points := strings.Split(strings.TrimSuffix(inner, ")"), ",")
		return !slices.ContainsFunc(points, func(p string) bool { return strings.TrimSpace(p) != strings.TrimSpace(points[0]) })
	}
	return false
}

// movedAway recognises transforms that shrink to nothing or move out of sight.
func movedAway(s string) bool {
	for rest := s; rest != ""; {
		name, after, ok := strings.Cut(rest, "(")
		if !ok {
			return false
		}
		var inner string
		inner, rest, _ = strings.Cut(after, ")")
		first, second, _ := strings.Cut(inner, ",")
		first, second = strings.TrimSpace(first), strings.TrimSpace(second)
		switch strings.TrimSpace(name) {
		case "scale", "scalex", "scaley", "scale3d":
			if scaledAway(first) {
				return true
			}
		case "rotatex", "rotatey":
			if first == "90deg" || first == "-90deg" || first == "270deg" {
				return true
			}
		case "translate", "translatex", "translate3d":
			if far(first) || far(second) {
				return true
			}
		case "translatey":
			if far(first) {
				return true
			}
		}
	}
	return false
}

// far leaves percentages alone: they are of the element's own size, and move
// what slides in.
func far(s string) bool { return !strings.HasSuffix(s, "%") && below(s, away) }

// indented reports that lines begin far out of sight.
func (v *values) indented() bool { return below(v[propTextIndent], away/2) }

// colour is a colour that could be worked out.
type colour struct {
	known   bool
	r, g, b uint8
	alpha   float64
}

// faint is how close, of 255, every channel of text must come to what lies
// behind it to be unreadable.
const faint = 24

func near(a, b colour) bool {
	d := func(x, y uint8) bool { return max(x, y)-min(x, y) <= faint }
	return a.known && b.known && d(a.r, b.r) && d(a.g, b.g) && d(a.b, b.b)
}

var colourNames = map[string]colour{
	"white": {true, 255, 255, 255, 1}, "black": {true, 0, 0, 0, 1}, "red": {true, 255, 0, 0, 1}, "green": {true, 0, 128, 0, 1},
	"blue": {true, 0, 0, 255, 1}, "yellow": {true, 255, 255, 0, 1}, "gray": {true, 128, 128, 128, 1}, "grey": {true, 128, 128, 128, 1},
	"silver": {true, 192, 192, 192, 1}, "snow": {true, 255, 250, 250, 1}, "ivory": {true, 255, 255, 240, 1},
	"whitesmoke": {true, 245, 245, 245, 1}, "ghostwhite": {true, 248, 248, 255, 1}, "transparent": {true, 0, 0, 0, 0},
}

// parseColour understands names, #rgb and rgb().
func parseColour(s string) colour {
	if c, ok := colourNames[s]; ok {
		return c
	}
	if h, ok := strings.CutPrefix(s, "#"); ok {
		return hexColour(h)
	}
	name, inner, ok := strings.Cut(s, "(")
	if !ok || name != "rgb" && name != "rgba" {
		return colour{}
	}
	f := strings.FieldsFunc(strings.TrimSuffix(inner, ")"), func(r rune) bool { return r == ' ' || r == ',' || r == '/' })
	if len(f) < 3 {
		return colour{}
	}
	c := colour{known: true, alpha: 1}
	for i, to := range []*uint8{&c.r, &c.g, &c.b} {
		n, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return colour{}
		}
		*to = uint8(min(max(n, 0), 255))
	}
	if len(f) > 3 {
		a, percent := strings.CutSuffix(f[3], "%")
		n, err := strconv.ParseFloat(a, 64)
		if err != nil {
			return colour{}
		}
		if c.alpha = n; percent {
			c.alpha = n / 100
		}
	}
	return c
}

func hexColour(h string) colour {
	if len(h) == 3 || len(h) == 4 {
		var long []byte
		for i := range len(h) {
			long = append(long, h[i], h[i])
		}
		h = string(long)
	}
	if len(h) != 6 && len(h) != 8 {
		return colour{}
	}
	n, err := strconv.ParseUint(h, 16, 64)
	if err != nil {
		return colour{}
	}
	c := colour{known: true, alpha: 1}
	if len(h) == 8 {
		c.alpha = float64(n&255) / 255
		n >>= 8
	}
	c.r, c.g, c.b = uint8(n>>16), uint8(n>>8), uint8(n)
	return c
}

// backdrop is the colour that a background puts behind text, and whether it
// puts anything there.
func backdrop(s string) (c colour, sets bool) {
	switch s {
	case "", "none", "transparent", "inherit", "initial", "unset":
		return colour{}, false
	}
	if c = parseColour(s); c.known {
		return c, c.alpha > 0
	}
	if strings.Contains(s, "(") && !strings.HasPrefix(s, "rgb") {
		return colour{}, true // an image or a gradient: nobody can tell
	}
	for w := range strings.FieldsSeq(s) {
		if c = parseColour(w); c.known {
			return c, c.alpha > 0
		}
	}
	return colour{}, true
}
