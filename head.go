package bellglass

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/plain"
	"github.com/bellglass/bellglass/internal/tab"
	"github.com/bellglass/bellglass/policy"
)

// Bounds of what a head says in a page's words.
const (
	maxTitle   = 200  // characters
	maxURL     = 2048 // characters
	maxBlocked = 20   // hosts

	maxFileName = 100 // characters
)

// headOf fills in what a page says about itself.
func (b *Browser) headOf(h *Head, p *tab.Page) {
	h.FinalURL = shownURL(p.URL)
	h.HTTPStatus, h.ContentType = p.Status, mediaType(p.ContentType)
	h.FramesLeftOut = p.FramesLeftOut
	h.Rendered = !p.IsRaw && !p.Scriptless
	if p.Doc != nil {
		h.Title = extract.Line(p.Doc.Title, maxTitle)
		h.HiddenChars, h.HiddenBlocks = p.Doc.HiddenChars, p.Doc.HiddenBlocks
		h.HiddenUnknown = p.Unlaid
	}
}

// headOfFailure fills in what is known of a read that came to no page; p may be
// nil.
func (b *Browser) headOfFailure(h *Head, p *tab.Page, err error) {
	if p != nil {
		h.FinalURL, h.HTTPStatus, h.ContentType = shownURL(p.URL), p.Status, mediaType(p.ContentType)
	}
	var content *tab.ContentError
	var network *tab.NetError
	var fetched *plain.Error
	switch {
	case errors.As(err, &content):
		h.FinalURL, h.HTTPStatus, h.ContentType = shownURL(content.URL), content.Status, mediaType(content.ContentType)
		h.FileName, h.Size = extract.Line(content.Name, maxFileName), content.Size
	case errors.As(err, &fetched):
		h.FinalURL, h.HTTPStatus, h.ContentType = shownURL(fetched.URL.String()), fetched.Status, ""
	case errors.As(err, &network):
		h.FinalURL, h.HTTPStatus, h.ContentType = shownURL(network.URL), 0, ""
	}
}

// mediaType returns a media type in lower case, or "" for what is none, or
// longer than the longest in use (74 characters, of presentations).
func mediaType(s string) string {
	s = strings.ToLower(s)
	if len(s) > 80 || !mediaTypes.MatchString(s) {
		return ""
	}
	return s
}

// mediaTypes is RFC 6838 §4.2 with the top-level types that are registered.
var mediaTypes = regexp.MustCompile(`^(application|audio|font|haptics|image|message|model|multipart|text|video)/[a-z0-9][a-z0-9.+_-]*$`)

// shownURL is a URL as results show it: without user information and fragment.
// What is not http or https is shown by its scheme alone.
func shownURL(raw string) string {
	raw, _, _ = strings.Cut(raw, "#")
	scheme, rest, ok := strings.Cut(raw, ":")
	if !ok {
		return ""
	}
	if scheme != "http" && scheme != "https" {
		return extract.Line(scheme, 30) + ":"
	}
	if auth, path, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "/"); strings.Contains(auth, "@") {
		raw = scheme + "://" + auth[strings.LastIndex(auth, "@")+1:] + "/" + path
	}
	return extract.Line(raw, maxURL)
}

// blocked collects what the proxy refused to the run, and where the page was
// not let go.
func blocked(run *egress.Run, p *tab.Page) []Blocked {
	var out []Blocked
	if p != nil && p.Hop != nil {
		var r *policy.Refusal
		if asRefusal(p.Hop.Err, &r) {
			host := ""
			if u, err := policy.ParseURL(p.Hop.URL); err == nil {
				host = u.Host.String()
			}
			out = append(out, Blocked{Host: host, Reason: r.Reason, Count: 1})
		}
	}
	for _, r := range run.Refusals() {
		if len(out) == maxBlocked {
			out = append(out, Blocked{Reason: ReasonHost})
		}
		if len(out) > maxBlocked {
			out[maxBlocked].Count += r.Count
			continue
		}
		out = append(out, Blocked{Host: r.Host, Reason: r.Reason, Count: r.Count})
	}
	return out
}

// needed tells what only observation let through, as the shortest entries of a
// list that would.
func (b *Browser) needed(run *egress.Run, who Principal) []string {
	if !b.o.Observe {
		return nil
	}
	var out []string
	for _, hp := range run.Needed() {
		host, port, _ := strings.Cut(hp, ":") // names only: no literal is let through unlisted
		if port != "443" && port != "80" {
			host = hp
		}
		if !slices.Contains(out, host) {
			out = append(out, host)
		}
	}
	if len(out) > 0 {
		b.log.Warn("observed: used by a page, and not listed", "hosts", out, "tenant", who.Tenant, "run", who.Run)
	}
	return out
}

func asRefusal(err error, r **policy.Refusal) bool { return errors.As(err, r) }

// isSiteOutcome reports whether an error is about what the site answered, so
// that its status and type are worth telling.
func isSiteOutcome(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == ReasonAuth
}

// deadlineFirst says that the call had ended where a step failed only because
// of that.
func deadlineFirst(ctx context.Context, err error) error {
	kind, cause := ctx.Err(), context.Cause(ctx)
	if kind == nil {
		return err
	}
	end := cause
	if !errors.Is(cause, kind) && !errors.Is(cause, errDeadline) {
		end = fmt.Errorf("%w: %w", kind, cause) // a cause of the caller's own
	}
	if errors.Is(err, cause) {
		return end
	}
	return fmt.Errorf("%w (%w)", end, err)
}
