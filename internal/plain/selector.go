package plain

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// A selector is compounds joined by combinators, matched from its end. The
// matcher is our own because a page is the author of both sides: it needs
// time in proportion to depth and length, where a backtracking one can be made
// to need for ever. What it does not know, pseudo-classes above all, never
// matches.
type selector struct {
	parts       []compound // parts[i].joint joins it to parts[i-1]
	specificity int
}

// compound is what one element must be.
type compound struct {
	joint   byte // ' ', '>', '+' or '~'; 0 of the first
	tag     string
	id      string
	classes []string
	attrs   []attrTest
	tests   []func(*matcher, *html.Node) bool
}

type attrTest struct {
	name, op, value string
	fold            bool
}

// matcher counts the steps of matching, which a page must not have at will.
type matcher struct{ steps int }

// maxSteps bounds the matching of one page. A page of 10,000 elements with
// 3,000 rules that matter takes a tenth of this.
const maxSteps = 20_000_000

type verdict int

const (
	fails    verdict = iota // here; another ancestor may do
	failsAll                // and with every ancestor
	matches
)

func (s *selector) match(m *matcher, n *html.Node) bool {
	return s.from(m, len(s.parts)-1, n) == matches
}

// from matches the parts up to i, the last of them against n.
func (s *selector) from(m *matcher, i int, n *html.Node) verdict {
	if m.steps++; m.steps > maxSteps {
		return failsAll
	}
	c := &s.parts[i]
	if !c.match(m, n) {
		return fails
	}
	if i == 0 {
		return matches
	}
	switch c.joint {
	case '>':
		if p := parentElement(n); p != nil {
			return s.from(m, i-1, p)
		}
		return failsAll
	case '+':
		if p := beside(n, -1); p != nil {
			return s.from(m, i-1, p)
		}
		return fails
	case '~':
		for p := beside(n, -1); p != nil; p = beside(p, -1) {
			if v := s.from(m, i-1, p); v != fails {
				return v
			}
		}
		return fails
	}
	for p := parentElement(n); p != nil; p = parentElement(p) {
		if v := s.from(m, i-1, p); v != fails {
			return v
		}
	}
	return failsAll
}

func parentElement(n *html.Node) *html.Node {
	if p := n.Parent; p != nil && p.Type == html.ElementNode {
		return p
	}
	return nil
}

// beside is the element before (-1) or after (1) n.
func beside(n *html.Node, to int) *html.Node {
	for {
		if to < 0 {
			n = n.PrevSibling
		} else {
			n = n.NextSibling
		}
		if n == nil || n.Type == html.ElementNode {
			return n
		}
	}
}

func (c *compound) match(m *matcher, n *html.Node) bool {
	if c.tag != "" && c.tag != n.Data {
		return false
	}
	if c.id != "" && attr(n, "id") != c.id {
		return false
	}
	if len(c.classes) > 0 {
		all := attr(n, "class")
		for _, want := range c.classes {
			if !hasWord(all, want) {
				return false
			}
		}
	}
	for _, a := range c.attrs {
		if !a.match(n) {
			return false
		}
	}
	for _, t := range c.tests {
		if !t(m, n) {
			return false
		}
	}
	return true
}

func (a attrTest) match(n *html.Node) bool {
	v, ok := lookup(n, a.name)
	if !ok {
		return false
	}
	want := a.value
	if a.fold {
		v, want = strings.ToLower(v), strings.ToLower(want)
	}
	switch a.op {
	case "":
		return true
	case "=":
		return v == want
	case "~=":
		return want != "" && hasWord(v, want)
	case "|=":
		return v == want || strings.HasPrefix(v, want+"-")
	case "^=":
		return want != "" && strings.HasPrefix(v, want)
	case "$=":
		return want != "" && strings.HasSuffix(v, want)
	case "*=":
		return want != "" && strings.Contains(v, want)
	}
	return false
}

// hasWord reports that a list of words, parted by white space, holds one.
func hasWord(all, word string) bool {
	for i := 0; ; {
		at := strings.Index(all[i:], word)
		if at < 0 {
			return false
		}
		at += i
		end := at + len(word)
		if (at == 0 || isSpace(all[at-1])) && (end == len(all) || isSpace(all[end])) {
			return true
		}
		i = end
	}
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' || b == '\f' }

func attr(n *html.Node, name string) string {
	v, _ := lookup(n, name)
	return v
}

func lookup(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val, true
		}
	}
	return "", false
}

// --- parsing -----------------------------------------------------------------

// maxParts bounds a selector. The longest seen on real pages have a dozen.
const maxParts = 64

// parseSelectors parses a list of selectors, and leaves out those that are not
// understood; of the argument of :is and the like, too.
func parseSelectors(tokens []css.Token, depth int) []*selector {
	var out []*selector
	for _, part := range splitTokens(tokens) {
		p := selectorParser{tokens: part, depth: depth}
		if s := p.parse(); s != nil {
			out = append(out, s)
		}
	}
	return out
}

// splitTokens splits at commas outside of parentheses and brackets.
func splitTokens(tokens []css.Token) [][]css.Token {
	var out [][]css.Token
	open, from := 0, 0
	for i, t := range tokens {
		switch t.TokenType {
		case css.FunctionToken, css.LeftParenthesisToken, css.LeftBracketToken:
			open++
		case css.RightParenthesisToken, css.RightBracketToken:
			open--
		case css.CommaToken:
			if open == 0 {
				out = append(out, tokens[from:i])
				from = i + 1
			}
		}
	}
	return append(out, tokens[from:])
}

type selectorParser struct {
	tokens []css.Token
	at     int
	depth  int // of :is(:not(…))
	bad    bool
}

func (p *selectorParser) peek() css.Token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return css.Token{TokenType: css.ErrorToken}
}

func (p *selectorParser) parse() *selector {
	s := &selector{}
	joint := byte(0)
	for p.skipSpace(); p.at < len(p.tokens) && !p.bad; {
		c := compound{joint: joint}
		if !p.compound(s, &c) || len(s.parts) >= maxParts {
			return nil
		}
		s.parts = append(s.parts, c)
		space := p.skipSpace()
		t := p.peek()
		switch {
		case t.TokenType == css.ErrorToken:
			joint = 0
		case t.TokenType == css.DelimToken && strings.Contains(">+~", string(t.Data)):
			joint = t.Data[0]
			p.at++
			p.skipSpace()
			if p.at == len(p.tokens) {
				return nil
			}
		case space:
			joint = ' '
		default:
			return nil
		}
	}
	if p.bad || len(s.parts) == 0 {
		return nil
	}
	return s
}

func (p *selectorParser) skipSpace() bool {
	from := p.at
	for p.at < len(p.tokens) && (p.tokens[p.at].TokenType == css.WhitespaceToken || p.tokens[p.at].TokenType == css.CommentToken) {
		p.at++
	}
	return p.at > from
}

// compound reads one, and reports whether there was one.
func (p *selectorParser) compound(s *selector, c *compound) bool {
	from := p.at
	for {
		t := p.peek()
		switch t.TokenType {
		case css.IdentToken:
			if p.at != from {
				return false
			}
			c.tag = strings.ToLower(unescapeIdent(t.Data))
			s.specificity++
		case css.HashToken:
			c.id = unescapeIdent(t.Data[1:])
			s.specificity += 1 << 20
		case css.DelimToken:
			switch {
			case string(t.Data) == "*" && p.at == from:
			case string(t.Data) == "." && p.at+1 < len(p.tokens) && p.tokens[p.at+1].TokenType == css.IdentToken:
				p.at++
				c.classes = append(c.classes, unescapeIdent(p.peek().Data))
				s.specificity += 1 << 10
			default:
				return p.at > from
			}
		case css.LeftBracketToken:
			if !p.attribute(c) {
				return false
			}
			s.specificity += 1 << 10
			continue
		case css.ColonToken:
			if !p.pseudo(s, c) {
				return false
			}
			continue
		default:
			return p.at > from
		}
		p.at++
	}
}

var attrOps = map[css.TokenType]string{
	css.IncludeMatchToken: "~=", css.DashMatchToken: "|=", css.PrefixMatchToken: "^=", css.SuffixMatchToken: "$=", css.SubstringMatchToken: "*=",
}

// attribute reads [name], [name=value] and so on.
func (p *selectorParser) attribute(c *compound) bool {
	p.at++
	p.skipSpace()
	if p.peek().TokenType != css.IdentToken {
		return false
	}
	a := attrTest{name: strings.ToLower(unescapeIdent(p.peek().Data))}
	p.at++
	p.skipSpace()
	if t := p.peek(); t.TokenType != css.RightBracketToken {
		if a.op = attrOps[t.TokenType]; string(t.Data) == "=" {
			a.op = "="
		}
		p.at++
		p.skipSpace()
		v := p.peek()
		switch {
		case a.op == "":
			return false
		case v.TokenType == css.StringToken && len(v.Data) >= 2:
			a.value = unescapeIdent(v.Data[1 : len(v.Data)-1])
		case v.TokenType == css.IdentToken:
			a.value = unescapeIdent(v.Data)
		default:
			return false
		}
		p.at++
		p.skipSpace()
		if t := p.peek(); t.TokenType == css.IdentToken {
			a.fold = strings.EqualFold(string(t.Data), "i")
			p.at++
			p.skipSpace()
		}
	}
	a.fold = a.fold || a.name == "type" || a.name == "dir" || a.name == "lang"
	if p.peek().TokenType != css.RightBracketToken {
		return false
	}
	p.at++
	c.attrs = append(c.attrs, a)
	return true
}

// pseudo reads a pseudo-class. Pseudo-elements, and classes that are about
// what a person does, fail.
func (p *selectorParser) pseudo(s *selector, c *compound) bool {
	p.at++
	t := p.peek()
	p.at++
	name := strings.ToLower(string(t.Data))
	if t.TokenType == css.IdentToken {
		test := pseudoClasses[name]
		if test == nil {
			return false
		}
		c.tests = append(c.tests, test)
		s.specificity += 1 << 10
		return true
	}
	if t.TokenType != css.FunctionToken {
		return false
	}
	from, open := p.at, 1
	for ; p.at < len(p.tokens); p.at++ {
		switch p.tokens[p.at].TokenType {
		case css.FunctionToken, css.LeftParenthesisToken:
			open++
		case css.RightParenthesisToken:
			open--
		}
		if open == 0 {
			break
		}
	}
	if open != 0 || p.depth > 3 {
		return false
	}
	inner := p.tokens[from:p.at]
	p.at++
	switch name {
	case "not(", "is(", "where(", "matches(", "-webkit-any(":
		return p.nested(s, c, name, inner)
	case "nth-child(", "nth-last-child(", "nth-of-type(", "nth-last-of-type(":
		test := nth(name, inner)
		if test == nil {
			return false
		}
		c.tests = append(c.tests, test)
		s.specificity += 1 << 10
		return true
	}
	return false
}

func (p *selectorParser) nested(s *selector, c *compound, name string, inner []css.Token) bool {
	list := parseSelectors(inner, p.depth+1)
	not := name == "not("
	if not && len(list) != len(splitTokens(inner)) {
		return false // of a negation, what is not understood makes it all wrong
	}
	most := 0
	for _, x := range list {
		most = max(most, x.specificity)
	}
	if name != "where(" {
		s.specificity += most
	}
	c.tests = append(c.tests, func(m *matcher, n *html.Node) bool {
		return slices.ContainsFunc(list, func(x *selector) bool { return x.match(m, n) }) != not
	})
	return true
}

// unescapeIdent undoes the escapes of an identifier or a string.
func unescapeIdent(b []byte) string {
	s := string(b)
	if !strings.Contains(s, `\`) {
		return s
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		end := i
		for end < len(s) && end < i+6 && isHex(s[end]) {
			end++
		}
		if end == i {
			out.WriteByte(s[i])
			continue
		}
		code, _ := strconv.ParseUint(s[i:end], 16, 32)
		out.WriteRune(rune(code))
		if end < len(s) && isSpace(s[end]) {
			end++
		}
		i = end - 1
	}
	return out.String()
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f'
}
