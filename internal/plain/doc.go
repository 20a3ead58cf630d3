package plain

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"github.com/bellglass/bellglass/internal/extract"
)

// maxHTML is the most bytes of a document that are parsed. Its tree takes some
// ten times as much memory.
const maxHTML = 8 << 20

// Doc is a parsed document.
type Doc struct {
	*extract.Doc
	// Cut: the document was too large to be parsed whole.
	Cut bool

	facts facts
}

// Doc parses the body as HTML. What it costs is bounded; the error says that
// there is nothing to be made of it.
func (r *Response) Doc() (*Doc, error) {
	if r.doc == nil {
		d, err := Parse(r.utf8(), r.URL.String())
		if err != nil {
			return nil, err
		}
		r.doc = d
	}
	return r.doc, nil
}

// Parse parses a document, in UTF-8, that came from url.
func Parse(text []byte, url string) (*Doc, error) {
	cut := len(text) > maxHTML
	text = text[:min(len(text), maxHTML)]
	root, short, err := parseHTML(text, true)
	if err != nil {
		return nil, fmt.Errorf("plain: parse: %w", err)
	}
	cut = cut || short
	d := &Doc{Cut: cut, facts: survey(root)}
	if d.Doc, err = d.walk(root, url, false); err != nil {
		return nil, err
	}
	// What authors keep for browsers without scripts is shown where there is
	// hardly anything else, as where the browser reads without scripts.
	if d.Thin() && d.facts.noscript >= max(fallbackText, 10*d.TextLen) {
		bare, _, err := parseHTML(text, false)
		if err == nil {
			again, err := d.walk(bare, url, true)
			if err == nil && again.TextLen > d.TextLen {
				d.Doc = again
			}
		}
	}
	d.Doc.Cut = d.Doc.Cut || cut
	return d, nil
}

// fallbackText is how many characters a page must keep for browsers without
// scripts to be read as one of them does.
const fallbackText = 200

var errNoRoot = errors.New("plain: no document")

// walk writes the tree as package extract's stream, and has it read.
func (d *Doc) walk(root *html.Node, url string, noscript bool) (*extract.Doc, error) {
	doc := find(root, func(n *html.Node) bool { return n.Data == "html" })
	if doc == nil {
		return nil, errNoRoot
	}
	w := &walker{sheet: newSheet(), noscript: noscript, formulas: d.facts.formulas, out: make([]byte, 0, 64<<10)}
	for _, text := range d.facts.sheets {
		w.sheet.add(text)
	}
	top := &frame{n: root}
	if !d.facts.linkedSheets { // else the page may be of any colour
		top.st.bg = colourNames["white"]
	}
	w.visit(doc, top)
	d.facts.templated = w.placeholders >= fewPlaceholders
	if w.sheet.matcher.steps > maxSteps {
		w.cut = true // rules that were made to take long: what they would hide is not known
	}
	base := url
	if d.facts.base != "" {
		if u, err := urls.Parse(url); err == nil {
			if u, err = u.Parse(d.facts.base); err == nil {
				base = u.Href(false)
			}
		}
	}
	var b strings.Builder
	b.Grow(len(w.out) + 1024)
	fmt.Fprintf(&b, "bellglass-page 1\tnodes=%d\tcut=%d\tbusy=%d\tnoscript=%d\twidth=%d\theight=%d\n",
		w.nodes, number(w.cut), number(d.facts.busy), d.facts.noscript, viewportWidth, viewportHeight)
	for _, line := range [][2]string{
		{"title", d.facts.title}, {"url", url}, {"base", base}, {"lang", attr(doc, "lang")},
		{"about", d.facts.about}, {"description", d.facts.description}, {"said", d.facts.said},
	} {
		b.WriteString("=" + line[0] + " " + escape(line[1]) + "\n")
	}
	b.Write(w.out)
	return extract.Parse(strings.TrimSuffix(b.String(), "\n"))
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// facts are what a document says besides its text.
type facts struct {
	title, base, about, description, said, refresh string

	sheets       []string
	linkedSheets bool
	formulas     bool
	busy         bool
	noscript     int // characters kept for browsers without scripts

	scripts     int // elements that run something
	scriptBytes int // of scripts and data in the document
	frames      int
	mounts      int  // empty elements that applications are drawn into
	templated   bool // placeholders of a template stand where text should
}

// Bounds of what is kept of a document's own word on itself.
const (
	maxAbout       = 100_000 // characters of one block of structured data
	maxKinds       = 100
	maxDescription = 500
	maxSaid        = 20_000
)

var (
	types  = regexp.MustCompile(`"@type"\s*:\s*(?:\[\s*)?"([A-Za-z]{1,40})"`)
	texts  = regexp.MustCompile(`"(?:description|articleBody|text)"\s*:\s*("(?:[^"\\]|\\.)*")`)
	entity = regexp.MustCompile(`&#?\w+;`)
	ogType = regexp.MustCompile(`(?i)^\s*([a-z]+)`)
	markup = regexp.MustCompile(`<[^>]*>`)
)

// survey collects the facts in one pass.
func survey(root *html.Node) facts {
	var f facts
	var about, descriptions []string
	kinds := map[string]bool{}
	kind := func(k string) {
		if !kinds[k] && len(kinds) < maxKinds {
			kinds[k] = true
			about = append(about, k)
		}
	}
	titled := false
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "title":
			if n.Namespace == "" && !titled {
				titled, f.title = true, strings.TrimSpace(squeeze(textOf(n)))
			}
		case "base":
			if f.base == "" {
				f.base = strings.TrimSpace(attr(n, "href"))
			}
		case "style":
			if t := attr(n, "media"); t == "" || mediaApplies(strings.ToLower(t)) {
				f.sheets = append(f.sheets, textOf(n))
			}
		case "link":
			f.linkedSheets = f.linkedSheets || hasWord(strings.ToLower(attr(n, "rel")), "stylesheet")
		case "noscript":
			f.noscript += len([]rune(strings.TrimSpace(squeeze(markup.ReplaceAllString(textOf(n), " ")))))
		case "meta":
			f.meta(n, kind, &descriptions)
		case "script":
			f.script(n, kind)
		case "annotation":
			f.formulas = f.formulas || attr(n, "encoding") == tex
		default:
			f.element(n)
		}
	}
	f.about, f.description = strings.Join(about, " "), strings.Join(descriptions, " ")
	return f
}

func (f *facts) meta(n *html.Node, kind func(string), descriptions *[]string) {
	content := attr(n, "content")
	switch {
	case strings.EqualFold(attr(n, "http-equiv"), "refresh") && f.refresh == "":
		f.refresh = content
	case attr(n, "name") == "description", attr(n, "property") == "og:description":
		if len(*descriptions) < 2 {
			*descriptions = append(*descriptions, clip(content, maxDescription))
		}
	case attr(n, "property") == "og:type":
		if m := ogType.FindStringSubmatch(content); m != nil {
			kind("og:" + strings.ToLower(m[1]))
		}
	}
}

func (f *facts) script(n *html.Node, kind func(string)) {
	text := textOf(n)
	f.scriptBytes += len(text)
	switch t := strings.ToLower(attr(n, "type")); t {
	case "", "module", "text/javascript", "application/javascript":
		f.scripts++
	case "application/ld+json":
		data := clip(text, maxAbout)
		for _, m := range types.FindAllStringSubmatch(data, maxKinds) {
			kind(m[1])
		}
		for _, m := range texts.FindAllStringSubmatch(data, maxKinds) {
			if len(f.said) < maxSaid {
				f.said += clip(plainly(m[1]), maxSaid) + " "
			}
		}
	}
}

// Markup in a string of structured data, which may be escaped once more.
var (
	spaces = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ")
	angles = strings.NewReplacer("&lt;", "<", "&gt;", ">")
)

// plainly is the text of a string in JSON that may hold HTML.
func plainly(quoted string) string {
	var s string
	if json.Unmarshal([]byte(spaces.Replace(quoted)), &s) != nil {
		return ""
	}
	return entity.ReplaceAllString(markup.ReplaceAllString(angles.Replace(s), " "), " ")
}

// mountPoints are the names that frameworks give, by default or by custom, to
// the element that an application is drawn into.
var mountPoints = words("root app __next __nuxt ___gatsby svelte main-app react-root app-root q-app gatsby-focus-wrapper ember-application")

func (f *facts) element(n *html.Node) {
	switch n.Data {
	case "iframe", "frame", "frameset":
		f.frames++
	case "body", "main":
		f.busy = f.busy || attr(n, "aria-busy") == "true"
	}
	if mountPoints[strings.ToLower(attr(n, "id"))] || n.Data == "app-root" {
		if strings.TrimSpace(textOf(n)) == "" {
			f.mounts++
		}
	}
}

// textOf is the text in n, without that of elements that show none.
func textOf(n *html.Node) string {
	if k := n.FirstChild; k != nil && k.NextSibling == nil && k.Type == html.TextNode {
		return k.Data
	}
	var b strings.Builder
	var collect func(*html.Node)
	collect = func(n *html.Node) {
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			switch {
			case k.Type == html.TextNode:
				b.WriteString(k.Data)
			case k.Type == html.ElementNode && !skipped[k.Data]:
				collect(k)
			}
		}
	}
	collect(n)
	return b.String()
}
