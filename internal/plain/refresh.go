package plain

import (
	"strconv"
	"strings"
)

// maxRefresh is how many seconds after which a page wants to be another one
// are not waited for, and count as at once: as many as the browser's clock is
// given.
const maxRefresh = 5

// refresh returns where a document wants to lead by itself, with a Refresh
// header or a meta element.
func (r *Response) refresh() (to string, ok bool) {
	said := r.Header.Get("Refresh")
	if said == "" {
		if !IsHTML(r.MediaType()) {
			return "", false
		}
		d, err := r.Doc()
		if err != nil {
			return "", false
		}
		said = d.facts.refresh
	}
	to, ok = parseRefresh(said)
	if !ok {
		return "", false
	}
	if u, err := follow(r.URL, to); err == nil && sansFragment(u.String()) == sansFragment(r.URL.String()) {
		return "", false // a page that reloads itself shows the same again
	}
	return to, true
}

func sansFragment(s string) string {
	s, _, _ = strings.Cut(s, "#")
	return s
}

// parseRefresh parses "0; url=/next" as browsers do, and reports false where
// it leads nowhere, or only later than maxRefresh.
func parseRefresh(s string) (to string, ok bool) {
	s = strings.TrimLeft(s, " \t\n\r\f")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
		end++
	}
	digits, _, _ := strings.Cut(s[:end], ".")
	n, err := strconv.Atoi(digits)
	if err != nil && digits != "" || end == 0 || n > maxRefresh {
		return "", false
	}
	rest := s[end:]
	trimmed := strings.TrimLeft(rest, " \t\n\r\f;,")
	if trimmed == rest || trimmed == "" {
		return "", false
	}
	if len(trimmed) > 3 && strings.EqualFold(trimmed[:3], "url") {
		if v := strings.TrimLeft(trimmed[3:], " \t\n\r\f"); strings.HasPrefix(v, "=") {
			trimmed = strings.TrimLeft(v[1:], " \t\n\r\f")
		}
	}
	if q := trimmed[:min(1, len(trimmed))]; q == `"` || q == "'" {
		trimmed, _, _ = strings.Cut(trimmed[1:], q)
	}
	return strings.TrimSpace(trimmed), trimmed != ""
}

// IsHTML reports that a body of this media type is parsed as HTML.
func IsHTML(mediaType string) bool {
	switch mediaType {
	case "text/html", "application/xhtml+xml", "image/svg+xml":
		return true
	}
	return false
}
