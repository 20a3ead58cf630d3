package extract

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nlnwa/whatwg-url/url"
	"golang.org/x/net/publicsuffix"
)

// Link is a link in sight.
type Link struct {
	Text string // one line; of a picture, its alternative text; may be empty
	URL  string // absolute, http or https
}

// urls writes paths as Chromium does: with ^ and | escaped.
var urls = url.NewParser(url.WithPathPercentEncodeSet(url.PathPercentEncodeSet.Set('^', '|')))

const maxLinkText = 200

// Links returns the page's links, each target once: those of host's own site
// first, otherwise in order. A link to a place on the page itself is left
// out, since the page is being read anyway.
func (d *Doc) Links(host string) []Link {
	c := linkCollector{at: map[string]int{}}
	c.self, _, _ = strings.Cut(d.URL, "#")
	c.collect(d.root)
	site := siteOf(host)
	slices.SortStableFunc(c.links, func(a, b Link) int {
		return cmp.Compare(foreign(a.URL, site), foreign(b.URL, site))
	})
	return c.links
}

type linkCollector struct {
	self  string // the page, without a fragment
	base  *url.Url
	links []Link
	at    map[string]int // index in links by target
}

func (c *linkCollector) collect(n *node) {
	if base := n.attr("base"); base != "" { // the root of a document
		outer := c.base
		c.base, _ = urls.Parse(base)
		defer func() { c.base = outer }()
	}
	if n.is("a") {
		c.add(n)
	}
	for _, k := range n.kids {
		c.collect(k)
	}
}

func (c *linkCollector) add(n *node) {
	target := c.resolve(n.attr("href"))
	if target == "" {
		return
	}
	if page, fragment, ok := strings.Cut(target, "#"); ok && !route(fragment) {
		if page == c.self {
			return
		}
		target = page
	}
	text := linkText(n)
	if text == "" && !n.holds(imageNode) {
		return // what it says cannot be seen, such as under a box: nobody is offered it
	}
	if i, ok := c.at[target]; ok {
		if utf8.RuneCountInString(c.links[i].Text) < 3 && text != "" {
			c.links[i].Text = text
		}
		return
	}
	c.at[target] = len(c.links)
	c.links = append(c.links, Link{text, target})
}

// maxURL is the most characters of a URL that is offered.
const maxURL = 2048

// resolve makes a link absolute as the browser would; "" if it does not lead
// to the web.
func (c *linkCollector) resolve(href string) string {
	if href == "" || c.base == nil || len(href) > maxURL {
		return ""
	}
	u, err := c.base.Parse(href)
	if err != nil || u.Scheme() != "http" && u.Scheme() != "https" {
		return ""
	}
	u.SetUsername("")
	u.SetPassword("")
	if s := u.Href(false); len(s) <= maxURL && webURL(s) {
		return s
	}
	return ""
}

// webURL reports that s is a URL as a browser writes it: printable ASCII.
func webURL(s string) bool {
	if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// route reports that a fragment names a view of an application, not a place
// on the page.
func route(fragment string) bool {
	return strings.HasPrefix(fragment, "/") || strings.HasPrefix(fragment, "!")
}

func linkText(n *node) string {
	if s := plainText(n); s != "" {
		return Line(s, maxLinkText)
	}
	alt := ""
	n.walk(func(n *node) bool {
		if n.kind == imageNode {
			alt = n.text
		}
		return alt == ""
	})
	return Line(alt, maxLinkText)
}

// siteOf is the registrable domain of a host, or the host itself.
func siteOf(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if site, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return site
	}
	return host
}

func foreign(target, site string) int {
	_, rest, _ := strings.Cut(target, "://")
	end := strings.IndexAny(rest, ":/?#")
	if end < 0 {
		end = len(rest)
	}
	if siteOf(rest[:end]) == site {
		return 0
	}
	return 1
}
