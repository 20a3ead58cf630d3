package digest

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Label is what the line of an element calls it: "input(email)", "select",
// "textarea", or its role.
func (e Element) Label() string {
	switch e.Tag {
	case "input":
		switch e.Role {
		case "textbox", "searchbox", "spinbutton", "slider", "combobox", "":
			if e.Type == "" || e.Type == "text" {
				if e.Role == "combobox" && e.Choices == 0 {
					return "combobox"
				}
				return "input"
			}
			return "input(" + word(e.Type) + ")"
		}
	case "select":
		return "select"
	case "textarea":
		if e.Role == "textbox" || e.Role == "" {
			return "textarea"
		}
	}
	if e.Role != "" {
		return word(e.Role)
	}
	if e.Editable {
		return "editable"
	}
	return word(e.Tag)
}

// word keeps of a role, type or tag what a line can hold: pages may write
// anything there.
func word(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return -1
	}, s)
	if s == "" {
		return "element"
	}
	return s[:min(len(s), 24)]
}

// brief is the line of an element without state, value and options: what its
// fingerprint says, for people and models.
func (e Element) brief() string {
	s := e.Label() + " " + quote(e.Name, MaxName)
	if h := e.target("", false); h != "" {
		s += " -> " + h
	}
	if e.Row != "" {
		s += " in row " + quote(e.Row, MaxName)
	}
	return s
}

// String is the element as a result may name it: label, name, target and row.
func (e Element) String() string { return e.brief() }

// target is where a link leads, short: without the origin when that is the
// page's own.
func (e Element) target(page string, query bool) string {
	if e.Href == "" {
		return ""
	}
	u, err := url.Parse(e.Href)
	if err != nil {
		return bare(strings.SplitN(e.Href, ":", 2)[0]+":", MaxHref)
	}
	switch u.Scheme {
	case "http", "https":
	case "mailto", "tel":
		return bare(u.Scheme+":"+u.Opaque, MaxHref)
	default:
		return bare(u.Scheme+":", MaxHref)
	}
	u.User = nil
	base, _ := url.Parse(page)
	same := base != nil && base.Scheme == u.Scheme && base.Host == u.Host
	if !query {
		u.RawQuery = ""
	}
	if same && u.Path == base.Path && u.Fragment != "" && (!query || u.RawQuery == base.RawQuery) {
		return bare("#"+u.EscapedFragment(), MaxHref)
	}
	u.Fragment, u.RawFragment = "", ""
	if same {
		u.Scheme, u.Host = "", ""
	}
	s := u.String()
	if s == "" {
		s = "/"
	}
	return bare(s, MaxHref)
}

// states lists what is so about an element, in words.
func (e Element) states() []string {
	var s []string
	tri := func(t Tri, yes, no string) {
		switch t {
		case True:
			s = append(s, yes)
		case False:
			if no != "" {
				s = append(s, no)
			}
		case Mixed:
			s = append(s, "mixed")
		}
	}
	tri(e.Checked, "checked", "unchecked")
	tri(e.Pressed, "pressed", "not pressed")
	tri(e.Expanded, "expanded", "collapsed")
	tri(e.Selected, "selected", "")
	for _, f := range []struct {
		is   bool
		word string
	}{{e.Current, "current"}, {e.Disabled, "disabled"}, {e.ReadOnly, "readonly"}, {e.Required, "required"}, {e.Invalid, "invalid"}, {e.Multiple, "multiple"}, {e.Focused, "focused"}, {e.Covered, "covered"}} {
		if f.is {
			s = append(s, f.word)
		}
	}
	return s
}

// lineOptions is what one line depends on besides its element.
type lineOptions struct {
	page  string // address, to shorten links
	query bool   // keep the query of links
	row   bool   // name the row
	same  bool   // which is that of the line before
	group bool   // name the group
}

// line is the line of e in a digest:
//
//	[5] select "Plan" (required) = "Starter" [Starter, Pro, Enterprise]
//	[7] button "Delete" in row "Invoice 3 · $40"
//	[8] button "Pay" in the same row
func (e Element) line(o lineOptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%d] %s %s", e.Index, e.Label(), quote(e.Name, MaxName))
	if h := e.target(o.page, o.query); h != "" {
		b.WriteString(" -> " + h)
	}
	if s := e.states(); len(s) > 0 {
		b.WriteString(" (" + strings.Join(s, ", ") + ")")
	}
	if e.Value != "" && !e.Protected {
		b.WriteString(" = " + quote(e.Value, MaxName))
	}
	if (e.Min != "" || e.Max != "") && limit.MatchString(e.Min) && limit.MatchString(e.Max) {
		b.WriteString(" of " + e.Min + ".." + e.Max)
	}
	if e.Choices > 0 {
		b.WriteString(" [" + e.choices() + "]")
	}
	if o.row && o.same {
		b.WriteString(" in the same row")
	} else if o.row && e.Row != "" {
		b.WriteString(" in row " + quote(shortRow(e.Row), MaxName))
	} else if o.group && e.Group != "" {
		b.WriteString(" in group " + quote(e.Group, MaxName))
	}
	if e.Origin != "" {
		b.WriteString(" in frame " + bare(e.Origin, MaxHref))
	}
	if e.Protected {
		b.WriteString(" " + string(mark) + " fill-protected")
	}
	return b.String()
}

// rowChars is about how much of a row a line shows: enough to tell rows apart,
// because a page may have a hundred of them.
const rowChars = 48

// shortRow leaves the sentences of a row out, as long as there are names,
// numbers and prices.
func shortRow(row string) string {
	parts := strings.Split(row, " · ")
	if len(parts) == 1 {
		return row
	}
	var kept []string
	n := 0
	for _, p := range parts {
		k := utf8.RuneCountInString(p)
		if k > rowChars*3/4 || n > 0 && n+k > rowChars {
			continue
		}
		kept = append(kept, p)
		n += k + 3
	}
	if len(kept) == 0 {
		return parts[0]
	}
	return strings.Join(kept, " · ")
}

// limit is what the least or greatest value of a number, date or time may look like.
var limit = regexp.MustCompile(`^[0-9TWZ:.+-]{0,24}$`)

// choices lists options: groups by name, the first [MaxOptions], and how many
// more there are.
func (e Element) choices() string {
	var parts []string
	group := ""
	shown := e.Options[:min(len(e.Options), MaxOptions)]
	for _, o := range shown {
		s := option(o.Text)
		if o.Disabled {
			s += " (disabled)"
		}
		if o.Group != group && o.Group != "" {
			s = option(o.Group) + ": " + s
		}
		group = o.Group
		parts = append(parts, s)
	}
	if more := e.Choices - len(shown); more > 0 {
		parts = append(parts, "… +"+strconv.Itoa(more)+" more")
	}
	return strings.Join(parts, ", ")
}
