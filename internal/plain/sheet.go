package plain

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
)

// Bounds of a page's style sheets. Inline sheets of large sites reach 1 MB and
// some 10,000 rules.
const (
	maxSheetBytes = 4 << 20
	maxRules      = 50_000
	maxNesting    = 8
)

// property is one that can decide whether text is seen, and how it is set.
type property uint8

const (
	propDisplay property = iota
	propVisibility
	propOpacity
	propContentVisibility
	propFontSize
	propTextIndent
	propClip
	propClipPath
	propPosition
	propLeft
	propTop
	propWidth
	propHeight
	propMaxWidth
	propMaxHeight
	propOverflow
	propTransform
	propFilter
	propColor
	propFill
	propBackground
	propWhiteSpace
	propUserSelect
	propAnimation
	propTranslate
	propScale
	propZoom
	propLetterSpacing
	propLineHeight
	propContain
	propLetters // what else than the colour may draw the letters
	propCount
)

var properties = map[string]property{
	"display": propDisplay, "visibility": propVisibility, "opacity": propOpacity, "content-visibility": propContentVisibility,
	"font-size": propFontSize, "text-indent": propTextIndent, "clip": propClip, "clip-path": propClipPath, "-webkit-clip-path": propClipPath,
	"position": propPosition, "left": propLeft, "top": propTop, "width": propWidth, "height": propHeight,
	"max-width": propMaxWidth, "max-height": propMaxHeight, "overflow": propOverflow, "overflow-x": propOverflow, "overflow-y": propOverflow,
	"transform": propTransform, "filter": propFilter, "color": propColor, "-webkit-text-fill-color": propFill,
	"background": propBackground, "background-color": propBackground, "background-image": propBackground,
	"white-space": propWhiteSpace, "user-select": propUserSelect, "-webkit-user-select": propUserSelect,
	"translate": propTranslate, "scale": propScale, "zoom": propZoom, "letter-spacing": propLetterSpacing, "line-height": propLineHeight,
	"contain": propContain, "text-shadow": propLetters, "-webkit-text-stroke": propLetters, "-webkit-text-stroke-width": propLetters,
	"background-clip": propLetters, "-webkit-background-clip": propLetters,
	"inset": propLeft, "animation": propAnimation, "animation-name": propAnimation,
}

// declaration sets one property.
type declaration struct {
	prop      property
	important bool
	value     string // lower case, single spaces
}

// rule is one selector with its declarations. rank orders rules of one
// importance: layer, specificity, then place.
type rule struct {
	*selector
	rank         uint64
	declarations []declaration
}

// sheet holds the rules of a page that can matter, by what their last compound
// asks for, so that an element meets few of them.
type sheet struct {
	byID, byClass, byTag map[string][]*rule
	rest                 []*rule

	rules, bytes int
	matcher      matcher
	cascade      cascade
}

func newSheet() *sheet {
	return &sheet{byID: map[string][]*rule{}, byClass: map[string][]*rule{}, byTag: map[string][]*rule{}}
}

// add parses the text of one style element.
func (s *sheet) add(text string) {
	if s.bytes += len(text); s.bytes > maxSheetBytes {
		return
	}
	p := sheetParser{s: s, p: css.NewParser(parse.NewInputString(text), false)}
	p.run()
}

type sheetParser struct {
	s       *sheet
	p       *css.Parser
	blocks  []block     // at-rules that are open
	prelude []css.Token // of the selectors so far
	sels    []*selector
	set     []declaration
	inRules int
}

// block is an at-rule with a body.
type block struct{ applies, layered bool }

func (p *sheetParser) now() block {
	if len(p.blocks) == 0 {
		return block{applies: true}
	}
	return p.blocks[len(p.blocks)-1]
}

func (p *sheetParser) run() {
	for p.s.rules < maxRules {
		kind, _, data := p.p.Next()
		switch kind {
		case css.ErrorGrammar:
			if p.p.HasParseError() {
				continue
			}
			return
		case css.BeginAtRuleGrammar:
			p.blocks = append(p.blocks, p.open(strings.ToLower(string(data)), p.p.Values()))
		case css.EndAtRuleGrammar:
			if len(p.blocks) > 0 {
				p.blocks = p.blocks[:len(p.blocks)-1]
			}
		case css.QualifiedRuleGrammar:
			p.prelude = append(append(p.prelude, p.p.Values()...), css.Token{TokenType: css.CommaToken})
		case css.BeginRulesetGrammar:
			if p.inRules++; p.inRules == 1 {
				p.sels, p.set = nil, nil
				if p.now().applies {
					p.sels = parseSelectors(append(p.prelude, p.p.Values()...), 0)
				}
			}
			p.prelude = nil
		case css.DeclarationGrammar:
			if p.inRules == 1 && len(p.sels) > 0 {
				if d, ok := declare(string(data), p.p.Values()); ok {
					p.set = append(p.set, d)
				}
			}
		case css.EndRulesetGrammar:
			if p.inRules--; p.inRules == 0 {
				p.finish()
			}
			p.inRules = max(p.inRules, 0)
		}
	}
}

// open decides whether what is in an at-rule applies.
func (p *sheetParser) open(name string, prelude []css.Token) block {
	b := p.now()
	text := tokenText(prelude)
	switch {
	case len(p.blocks) >= maxNesting:
		b.applies = false
	case name == "@media":
		b.applies = b.applies && mediaApplies(text)
	case name == "@supports":
		b.applies = b.applies && !strings.HasPrefix(text, "not")
	case name == "@layer":
		b.layered = true
	default: // keyframes, fonts, pages, containers, scopes
		b.applies = false
	}
	return b
}

func (p *sheetParser) finish() {
	if len(p.set) == 0 {
		return
	}
	for _, sel := range p.sels {
		if p.s.rules++; p.s.rules > maxRules {
			return
		}
		r := &rule{selector: sel, declarations: p.set, rank: uint64(sel.specificity)<<24 | uint64(p.s.rules)}
		if !p.now().layered {
			r.rank |= 1 << 62
		}
		p.s.index(r)
	}
}

func (s *sheet) index(r *rule) {
	last := &r.parts[len(r.parts)-1]
	switch {
	case last.id != "":
		s.byID[last.id] = append(s.byID[last.id], r)
	case len(last.classes) > 0:
		s.byClass[last.classes[0]] = append(s.byClass[last.classes[0]], r)
	case last.tag != "":
		s.byTag[last.tag] = append(s.byTag[last.tag], r)
	default:
		s.rest = append(s.rest, r)
	}
}

// declare makes a declaration of its tokens, if it is one that matters. What
// has a variable in it cannot be worked out and is left out.
func declare(name string, values []css.Token) (declaration, bool) {
	prop, ok := properties[strings.ToLower(name)]
	if !ok {
		return declaration{}, false
	}
	d := declaration{prop: prop, value: tokenText(values)}
	if v, found := strings.CutSuffix(d.value, "important"); found {
		if v, found = strings.CutSuffix(strings.TrimRight(v, " "), "!"); found {
			d.value, d.important = strings.TrimRight(v, " "), true
		}
	}
	if strings.Contains(d.value, "var(") || strings.Contains(d.value, "env(") || d.value == "" {
		return declaration{}, false
	}
	if strings.EqualFold(name, "inset") { // top right bottom left
		f := strings.Fields(d.value)
		d.value = f[[]int{0, 1, 1, 3}[min(len(f), 4)-1]]
	}
	return d, true
}

// tokenText joins tokens as they stand, in lower case.
func tokenText(tokens []css.Token) string {
	var b bytes.Buffer
	for _, t := range tokens {
		switch t.TokenType {
		case css.CommentToken:
		case css.WhitespaceToken:
			b.WriteByte(' ')
		default:
			b.Write(t.Data)
		}
	}
	return strings.ToLower(strings.TrimSpace(b.String()))
}

// --- media queries -------------------------------------------------------------

// The viewport that the browser has, too.
const (
	viewportWidth  = 1280
	viewportHeight = 800
)

// mediaApplies evaluates a list of media queries, in lower case. A feature that
// is not known does not apply.
func mediaApplies(list string) bool {
	for q := range strings.SplitSeq(list, ",") {
		if queryApplies(strings.TrimSpace(q)) {
			return true
		}
	}
	return strings.TrimSpace(list) == ""
}

func queryApplies(q string) bool {
	q, not := strings.CutPrefix(q, "not ")
	q = strings.TrimPrefix(q, "only ")
	holds := true
	for part := range strings.SplitSeq(q, " and ") {
		switch part = strings.TrimSpace(part); {
		case part == "all", part == "screen":
		case strings.HasPrefix(part, "("):
			holds = holds && featureHolds(strings.Trim(part, "() "))
		default:
			holds = false
		}
	}
	return holds != not
}

func featureHolds(f string) bool {
	name, value, _ := strings.Cut(f, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	size := float64(viewportWidth)
	if strings.Contains(name, "height") {
		size = viewportHeight
	}
	switch name {
	case "min-width", "min-height", "min-device-width":
		n, ok := length(value, size)
		return ok && size >= n
	case "max-width", "max-height", "max-device-width":
		n, ok := length(value, size)
		return ok && size <= n
	case "orientation":
		return value == "landscape"
	case "prefers-color-scheme":
		return value == "light"
	case "prefers-reduced-motion", "prefers-contrast", "prefers-reduced-transparency":
		return value == "no-preference"
	case "hover", "any-hover":
		return value == "hover" || value == ""
	case "pointer", "any-pointer":
		return value == "fine" || value == ""
	case "scripting":
		return value == "none"
	}
	return rangeHolds(f)
}

// rangeHolds evaluates the range form, such as "width >= 600px" or
// "400px <= width < 900px".
func rangeHolds(f string) bool {
	f = strings.NewReplacer(">=", " ≥ ", "<=", " ≤ ", ">", " > ", "<", " < ").Replace(f)
	w := strings.Fields(f)
	if len(w) != 3 && len(w) != 5 {
		return false
	}
	for i := 0; i+2 < len(w); i += 2 {
		a, okA := operand(w[i])
		b, okB := operand(w[i+2])
		if !okA || !okB {
			return false
		}
		holds := map[string]bool{"≥": a >= b, "≤": a <= b, ">": a > b, "<": a < b}[w[i+1]]
		if !holds {
			return false
		}
	}
	return true
}

func operand(s string) (float64, bool) {
	switch s {
	case "width":
		return viewportWidth, true
	case "height":
		return viewportHeight, true
	}
	return length(s, viewportWidth)
}

// length resolves a CSS length in pixels; of a percentage, of size. Sizes that
// depend on fonts are taken as with the browser's defaults.
func length(s string, size float64) (float64, bool) {
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || strings.IndexByte("+-.", s[end]) >= 0 ||
		s[end] == 'e' && end+1 < len(s) && s[end+1] >= '0' && s[end+1] <= '9') {
		end++
	}
	n, err := strconv.ParseFloat(s[:end], 64)
	if err != nil {
		return 0, false
	}
	switch unit := s[end:]; unit {
	case "":
		return n, n == 0
	case "px":
		return n, true
	case "em", "rem", "ic":
		return n * 16, true
	case "ex", "ch":
		return n * 8, true
	case "pt":
		return n * 4 / 3, true
	case "pc":
		return n * 16, true
	case "in":
		return n * 96, true
	case "cm":
		return n * 96 / 2.54, true
	case "mm":
		return n * 96 / 25.4, true
	case "%":
		return n * size / 100, true
	case "vw", "dvw", "svw", "lvw":
		return n * viewportWidth / 100, true
	case "vh", "dvh", "svh", "lvh":
		return n * viewportHeight / 100, true
	}
	return 0, false
}
