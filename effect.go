package bellglass

import (
	"fmt"
	"hash/fnv"
	"image"
	"slices"
	"strings"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/tab"
)

// sight is a page as it was seen, with a sum of more of its text than the page
// holds.
type sight struct {
	*digest.Page
	sum uint64
	at  map[string]image.Point // where in the window each frame begins, by its name
}

// places tells where in the window each frame begins.
func places(f *digest.Frame, at image.Point, all map[string]image.Point) map[string]image.Point {
	all[f.ID] = at
	for _, p := range f.Places {
		if p.Child != nil {
			places(p.Child, at.Add(image.Pt(int(p.Box.X), int(p.Box.Y))), all)
		}
	}
	return all
}

// sumOf sums up the text of a frame and those in it.
func sumOf(f *digest.Frame) uint64 {
	h := fnv.New64a()
	var add func(f *digest.Frame)
	add = func(f *digest.Frame) {
		for _, l := range f.Lines {
			h.Write([]byte(l))
			h.Write([]byte{'\n'})
		}
		for _, p := range f.Places {
			if p.Child != nil && p.Shown {
				add(p.Child)
			}
		}
	}
	add(f)
	return h.Sum64()
}

// noChange is what an act says that changed nothing a person could see.
const noChange = "no visible change"

// effect tells in one line how a page differs from the one before.
func effect(before, now sight) string {
	var parts []string
	if before.URL != now.URL {
		parts = append(parts, "URL now "+now.URL)
	}
	if before.Title != now.Title {
		parts = append(parts, "title now "+quoted(now.Title))
	}
	switch {
	case before.Doc != now.Doc:
		parts = append(parts, "new document")
	default:
		added, removed, changed := compare(before.Page, now.Page)
		parts = append(parts, some(added, "added"), some(removed, "removed"), some(changed, "changed"))
		if before.sum != now.sum || before.Chars != now.Chars {
			parts = append(parts, "text changed")
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return noChange
	}
	return strings.Join(parts, "; ")
}

// unchanged reports that nothing differs that a person could see.
func unchanged(before, now sight) bool { return effect(before, now) == noChange }

// some names up to three elements.
func some(all []digest.Element, what string) string {
	if len(all) == 0 {
		return ""
	}
	noun := "elements"
	if len(all) == 1 {
		noun = "element"
	}
	var names []string
	for _, e := range all[:min(len(all), maxNamed)] {
		names = append(names, fmt.Sprintf("[%d] %s %s", e.Index, e.Label(), quoted(e.Name)))
	}
	if len(all) > maxNamed {
		names = append(names, "…")
	}
	return fmt.Sprintf("%d %s %s (%s)", len(all), noun, what, strings.Join(names, ", "))
}

// maxNamed is how many elements an effect names of each kind.
const maxNamed = 3

// compare tells which elements came, went and changed.
func compare(before, now *digest.Page) (added, removed, changed []digest.Element) {
	old := make(map[int]*digest.Element, len(before.Elements))
	for i := range before.Elements {
		old[before.Elements[i].Index] = &before.Elements[i]
	}
	for i := range now.Elements {
		e := &now.Elements[i]
		was := old[e.Index]
		delete(old, e.Index)
		switch {
		case was == nil:
			added = append(added, *e)
		case !alike(was, e):
			changed = append(changed, *e)
		}
	}
	for i := range before.Elements {
		if e := before.Elements[i]; old[e.Index] != nil {
			removed = append(removed, e)
		}
	}
	return added, removed, changed
}

// alike compares what a person sees of an element; where it is, and whether it
// has the focus, is no change of it.
func alike(a, b *digest.Element) bool {
	return a.Role == b.Role && a.Name == b.Name && a.Href == b.Href && a.Value == b.Value && a.Type == b.Type &&
		a.Checked == b.Checked && a.Pressed == b.Pressed && a.Expanded == b.Expanded && a.Selected == b.Selected && a.Current == b.Current &&
		a.Disabled == b.Disabled && a.ReadOnly == b.ReadOnly && a.Required == b.Required && a.Invalid == b.Invalid && a.Choices == b.Choices && a.Covered == b.Covered
}

// events tells what happened beside the page since it was last asked.
func (s *Session) events() []string {
	all, more := s.live.Events()
	var out []string
	for _, e := range all {
		if t := s.event(e); t != "" {
			if t, err := s.rules.guard.Output(t); err == nil {
				out = append(out, t)
			}
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%d more events", more))
	}
	if t := s.newlyBlocked(); t != "" {
		out = append(out, t)
	}
	return out
}

func (s *Session) event(e tab.Event) string {
	switch e.Kind {
	case tab.EventDialog:
		answer := "dismissed"
		if e.Accepted {
			answer = "accepted"
		}
		return fmt.Sprintf("dialog %s: %s %s", answer, e.What, quoted(e.Text))
	case tab.EventDownload:
		return "download refused: " + quoted(e.Text)
	case tab.EventPopup:
		return fmt.Sprintf("page %d was opened and is shown: %s", e.Page, s.shown(e.URL))
	case tab.EventPopupClosed:
		return "a new page was closed at once: too many are open"
	case tab.EventPageClosed:
		return fmt.Sprintf("page %d was closed", e.Page)
	case tab.EventRefused:
		r, about := reasonOf(e.Err, nil)
		t := "not opened: " + s.shown(e.URL) + " (" + string(r) + ")"
		_ = about
		return t
	case tab.EventFileChooser:
		return "file chooser cancelled"
	case tab.EventPrint:
		return "print refused"
	case tab.EventAuth:
		return "login prompt cancelled"
	}
	return ""
}

// newlyBlocked counts what the proxy has refused since it was last asked.
func (s *Session) newlyBlocked() string {
	n, hosts := 0, []string{}
	for _, r := range s.run.Refusals() {
		d := r.Count - s.refusals[r.Host]
		if d <= 0 {
			continue
		}
		if s.refusals == nil {
			s.refusals = map[string]int{}
		}
		s.refusals[r.Host] = r.Count
		n += d
		if r.Host != "" && len(hosts) < 5 {
			hosts = append(hosts, extract.Line(r.Host, 80))
		}
	}
	switch {
	case n == 0:
		return ""
	case n == 1:
		return "1 request blocked (" + strings.Join(hosts, ", ") + ")"
	}
	return fmt.Sprintf("%d requests blocked (%s)", n, strings.Join(hosts, ", "))
}

// noteEvents puts what happened into an answer without a page.
func (v *View) noteEvents(events []string) {
	if len(events) > 0 && v.Page == nil {
		v.Detail = strings.Join(events, "; ")
	}
}
