package extract

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The stream that walker.js writes and Parse reads is lines. The first is
//
//	bellglass-page 1 TAB key=value TAB key=value …
//
// with the integers hidden, unrendered, blocks, finished, nodes, frames, busy,
// cut, noscript, width, height, passwords, captcha and told. Then:
//
//	=title …  =url …  =base …  =lang …   about the document
//	=about …  =description …  =said …  what it says of itself: words of kinds,
//	                                 its description, and what its structured
//	                                 data says of things
//	=hidden …                        a stretch of hidden text, if told is 1
//	<name TAB key=value …            opens a block
//	(name TAB key=value …            opens an inline element
//	>                                closes the last one opened
//	Ttext                            a run of text, white space collapsed; a
//	                                 line feed in it is a line break on screen
//	Ptext                            a run of text with its white space kept
//	Ialt                             an image in sight with alternative text
//	ialt                             the same of an icon
//	/                                a line break
//	|                                the edge of a block that has nothing in it
//	-                                a rule
//	C                                contents the page holds back until found
//	Fn WIDTH HEIGHT                  child frame window[n] (-1: not known); no
//	                                 size: nobody can see it
//
// Backslash, line feed, carriage return and tab in texts and values are
// written \\, \n, \r and \t, so no page can write a line of its own. Elements
// left open at the end are closed by it: the walk may have been cut short.
const streamHead = "bellglass-page 1"

// Bounds of a stream. The script keeps to smaller ones (see walker.js); these
// hold for a renderer that does not.
const (
	maxStream = 32 << 20 // bytes
	maxNodes  = 1 << 20
	maxDepth  = 200 // elements; deeper ones are read as if they were not there
)

var errStream = errors.New("extract: not a page stream")

// Parse reads the string that the script returned. It never panics; an error
// says that the string was not written by the script of this version.
func Parse(stream string) (*Doc, error) {
	if len(stream) > maxStream {
		return nil, fmt.Errorf("%w: %d bytes", errStream, len(stream))
	}
	head, rest, _ := strings.Cut(stream, "\n")
	if head != streamHead && !strings.HasPrefix(head, streamHead+"\t") {
		return nil, errStream
	}
	p := parser{doc: &Doc{root: &node{kind: blockNode, tag: "body"}, about: kindsIn("")}}
	p.at = p.doc.root
	p.head(head)
	for n := 2; rest != ""; n++ {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", errStream, n, err)
		}
	}
	return p.doc, nil
}

type parser struct {
	doc   *Doc
	at    *node
	depth int // elements open, including those read as if not there
	nodes int
	spare []node
}

// manyNodes is how many nodes are made at once: they live as long as each
// other.
const manyNodes = 64

func (p *parser) node(n node) *node {
	if len(p.spare) == 0 {
		p.spare = make([]node, manyNodes)
	}
	to := &p.spare[0]
	p.spare = p.spare[1:]
	*to = n
	return to
}

func (p *parser) head(line string) {
	d := p.doc
	numbers := map[string]*int{
		"hidden": &d.HiddenChars, "unrendered": &d.UnrenderedChars, "blocks": &d.HiddenBlocks, "finished": &d.Finished,
		"nodes": &d.Nodes, "frames": &d.Frames, "passwords": &d.passwords,
		"noscript": &d.NoScript, "width": &d.width, "height": &d.height,
	}
	for _, f := range strings.Split(line, "\t")[1:] {
		key, value, _ := strings.Cut(f, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			continue
		}
		n = min(n, 1<<30)
		switch key {
		case "busy":
			d.Busy = n != 0
		case "captcha":
			d.captcha = n != 0
		case "cut":
			d.Cut = n != 0
		case "told":
			if n != 0 {
				d.Hidden = []string{}
			}
		default:
			if to := numbers[key]; to != nil {
				*to = n
			}
		}
	}
}

func (p *parser) line(line string) error {
	if line == "" {
		return errors.New("empty")
	}
	if p.nodes++; p.nodes > maxNodes {
		return errors.New("too many nodes")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '=':
		p.property(rest)
	case '<':
		p.open(blockNode, rest)
	case '(':
		p.open(inlineNode, rest)
	case '>':
		return p.close()
	case 'T', 'P':
		p.text(kind, unescape(rest))
	case 'I', 'i':
		p.at.add(&node{kind: imageNode, text: Line(unescape(rest), maxAlt), shown: kind == 'I'})
	case '/':
		p.at.add(&node{kind: breakNode})
	case '|':
		p.at.add(&node{kind: edgeNode})
	case '-':
		p.at.add(&node{kind: ruleNode})
	case 'C':
		p.at.add(&node{kind: collapsedNode})
	case 'F':
		return p.frame(rest)
	default:
		return errors.New("unknown kind")
	}
	return nil
}

// maxAlt is the most characters of an image's alternative text that are kept.
const maxAlt = 300

func (p *parser) property(s string) {
	key, value, _ := strings.Cut(s, " ")
	value = unescape(value)
	switch key {
	case "title":
		p.doc.Title = Line(value, 300)
	case "url":
		p.doc.URL = Line(value, 2048)
	case "base":
		p.doc.root.attrs = []attr{{"base", value}}
	case "lang":
		p.doc.Lang = Line(value, 35)
	case "about":
		p.doc.about = kindsIn(value)
	case "said":
		p.doc.said = pairsOf(Line(value, 2*maxSaid))
	case "hidden":
		p.doc.tell(value)
	case "description":
		p.doc.description = wordSet(Line(value, 2000))
	}
}

func (p *parser) open(kind nodeKind, s string) {
	if p.depth++; p.depth > maxDepth {
		return
	}
	tag, fields, more := strings.Cut(s, "\t")
	n := p.node(node{kind: kind, tag: tag})
	if more {
		n.attrs = make([]attr, 0, strings.Count(fields, "\t")+1)
	}
	for more {
		var f string
		f, fields, more = strings.Cut(fields, "\t")
		key, value, _ := strings.Cut(f, "=")
		n.attrs = append(n.attrs, attr{key, unescape(value)})
	}
	p.at.add(n)
	p.at = n
}

func (p *parser) close() error {
	if p.depth == 0 {
		return errors.New("nothing open")
	}
	if p.depth--; p.depth < maxDepth {
		p.at = p.at.parent
	}
	return nil
}

func (p *parser) text(kind byte, s string) {
	n := p.node(node{kind: textNode, text: s})
	if kind == 'P' {
		n.kind = preNode
	}
	p.at.add(n)
	n.grow(visibleLen(s))
	p.doc.TextLen = p.doc.root.size
}

func (p *parser) frame(s string) error {
	f := strings.Fields(s)
	if len(f) != 1 && len(f) != 3 {
		return errors.New("frame")
	}
	i, err := strconv.Atoi(f[0])
	if err != nil || i < -1 {
		return errors.New("frame number")
	}
	n := &node{kind: frameNode, frame: i, shown: len(f) == 3}
	p.at.add(n)
	p.doc.frames = append(p.doc.frames, n)
	return nil
}

// unescape undoes the escaping of texts and values; a backslash before
// anything else stands for itself.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case '\\':
			b.WriteByte('\\')
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// visibleLen counts the code points of s that are not white space.
func visibleLen(s string) int {
	n := utf8.RuneCountInString(s)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ', '\n', '\t', '\r', '\f':
			n--
		}
	}
	return n
}
