package bellglass

import (
	"fmt"
	"image"
	"strings"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/tab"
)

// sight is a page as it was seen.
type sight struct {
	*digest.Page
	at map[string]image.Point // where in the window each frame begins, by its name
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

// effect tells in one line what an act has changed. That the page was scrolled
// to what was acted on is no change.
func effect(before, now *digest.Page) (what string, changed bool) {
	d := now.Since(before)
	scrolled := d.Scrolled
	d.Scrolled = false
	switch {
	case !d.Empty():
		d.Scrolled = scrolled
		return d.String(), true
	case scrolled:
		return d.String() + ", scrolled", false
	}
	return d.String(), false
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
		r, _ := reasonOf(e.Err, nil)
		return "not opened: " + s.shown(e.URL) + " (" + string(r) + ")"
	case tab.EventFileChooser:
		return "file chooser cancelled"
	case tab.EventLogin:
		return "login prompt cancelled: " + quoted(e.Text) + " of " + s.shown(e.URL)
	case tab.EventPrint:
		return "print ignored"
	case tab.EventPermission:
		return "permission denied: " + e.What
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
