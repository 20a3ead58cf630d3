package bellglass

import (
	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/answer"
)

// View is a page of a session as a model sees it, after a call.
type View struct {
	Head
	// Session is the handle of the session.
	Session string
	// Effect is what an act has changed, in one line; "no visible change" if
	// nothing. It is empty where nothing was done.
	Effect string
	// Detail says what stood in the way of an act, in one line that holds words
	// of the page in quotes.
	Detail string
	// Page is the page, nil if there is none to be shown. Its strings are the
	// page's words.
	Page *digest.Page
	// Old: Page is what was seen last; it could not be looked at again.
	Old bool

	changed bool         // by an act, visibly
	since   *digest.Page // what was shown before an act
	part    digest.RenderOptions
}

// Digest is the page as text for a model, in the form of package digest; ""
// without a page. After an act it is what has changed since the digest before,
// where that says it in less than half. Each call writes it with a fresh nonce.
func (v View) Digest() string {
	if v.Page == nil {
		return ""
	}
	o := v.part
	o.Nonce = answer.Nonce(v.Page.Text)
	if v.since != nil && v.since.Generation > 0 {
		if s := v.Page.RenderSince(v.since, o); s != "" {
			return s
		}
	}
	return v.Page.Render(o)
}
