package tab

import "errors"

var (
	// ErrTimeout: no document came within Request.Timeout.
	ErrTimeout = errors.New("tab: no document in time")
	// ErrUnresponsive: the page's scripts keep its process too busy to be
	// looked at.
	ErrUnresponsive = errors.New("tab: page does not respond")
	// ErrLeft: a context may be alive, and use its proxy.
	ErrLeft = errors.New("tab: the context was not disposed of")
	// ErrCrashed: the page's process died.
	ErrCrashed = errors.New("tab: page crashed")
	// ErrTooLarge: more than Request.MaxBytes of bodies.
	ErrTooLarge = errors.New("tab: response too large")
	// ErrTooManyRedirects: more than ten redirects.
	ErrTooManyRedirects = errors.New("tab: too many redirects")
	// ErrTake: the response is one that Request.Take wants, and the request was
	// not intercepted. Once more with Request.Intercept.
	ErrTake = errors.New("tab: the body is wanted as it came")
	// ErrEmpty: the server answered without any document: 204, 205, 304, or a
	// body of no bytes.
	ErrEmpty = errors.New("tab: no document in the response")
)

// NetError is a navigation that the browser could not complete.
type NetError struct {
	URL    string // what could not be loaded
	Text   string // Chromium's name, such as "net::ERR_NAME_NOT_RESOLVED"
	Status int    // of the last HTTP response, if there was one
}

func (e *NetError) Error() string { return "tab: " + e.Text }

// ContentError is a response that is no readable document.
type ContentError struct {
	URL         string
	Status      int
	ContentType string
	Attachment  bool   // meant to be saved, and refused
	Name        string // the file name proposed, if any; the site's words
	Size        int64  // in bytes, as declared; 0 if it was not
}

func (e *ContentError) Error() string { return "tab: cannot show " + e.ContentType }
