package extract

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Link is a link in sight.
type Link struct {
	Text string // one line; of a picture, its alternative text; may be empty
	URL  string // absolute, http or https
}

const maxLinkText = 200

// Links returns the page's links, each target once: those of host's own site
// first, otherwise in order. A link to a place on the page itself is left
// out, since the page is being read anyway.
func (d *Doc) Links(host string) []Link {
	self, _, _ := strings.Cut(d.URL, "#")
	at := map[string]int{}
	var links []Link
	d.root.walk(func(n *node) bool {
		target := n.attr("href")
		if !n.is("a") || !webURL(target) {
			return true
		}
		key := target
		if page, fragment, ok := strings.Cut(target, "#"); ok && !route(fragment) {
			if page == self {
				return true
			}
			key = page
		}
		text := linkText(n)
		if i, ok := at[key]; ok {
			if len([]rune(links[i].Text)) < 3 && text != "" {
				links[i].Text = text
			}
			return true
		}
		at[key] = len(links)
		links = append(links, Link{text, key})
		return true
	})
	site := siteOf(host)
	slices.SortStableFunc(links, func(a, b Link) int {
		return cmp.Compare(foreign(a.URL, site), foreign(b.URL, site))
	})
	return links
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
	u, err := url.Parse(target)
	if err == nil && siteOf(u.Hostname()) == site {
		return 0
	}
	return 1
}
