package bellglass

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bellglass/bellglass/digest"
	"github.com/bellglass/bellglass/internal/extract"
	"github.com/bellglass/bellglass/internal/tab"
)

// FillRequest gives a field a value.
type FillRequest struct {
	Ref
	// Selector names the field instead, where [SessionOptions.Selectors]
	// permits it.
	Selector string
	// Text is what the field is to hold: typed, or the text or value of an
	// option, or the value of a date (YYYY-MM-DD), time, colour or slider, or
	// "checked" or "unchecked". Of a select that takes several options, one a
	// line.
	Text string
	// Submit presses Enter afterwards, as a person would, or submits the form
	// where Enter is a new line.
	Submit bool
	// Key is pressed afterwards: Enter, Escape or Tab.
	Key string
}

// Fill gives a field a value, and tells what that changed and what the field
// holds then.
func (s *Session) Fill(ctx context.Context, r FillRequest) View {
	const op = "fill"
	ctx, done, err := s.begin(ctx, op)
	if err != nil {
		return s.failed(ctx0(ctx), op, err)
	}
	defer done()
	key := tab.Key(r.Key)
	if !slices.Contains([]tab.Key{"", tab.KeyEnter, tab.KeyEscape, tab.KeyTab}, key) || r.Submit && key != "" || len(r.Text) > maxTyped {
		return s.failed(ctx, op, reasonError(op, ReasonInvalidArgument, "The key is Enter, Escape or Tab, and goes without submit; the text has at most 100,000 bytes.", nil))
	}
	if err := s.rules.guard.Typed(r.Text); err != nil {
		return s.failed(ctx, op, err)
	}
	act, cancel := context.WithTimeoutCause(ctx, s.o.ActionTimeout, errAction)
	defer cancel()
	e, err := s.named(act, r.Ref, r.Selector)
	if err == nil {
		err = s.mayFill(e)
	}
	if err == nil && r.Submit {
		err = s.maySubmitFrom(act, e)
	}
	if err != nil {
		return s.unable(ctx, op, err)
	}
	note, err := s.fill(act, e, r.Text)
	if err == nil {
		more := ""
		more, err = s.finish(act, e, r.Submit, key)
		note += more
	}
	if err == nil && r.Submit {
		note += s.notSent(act, e)
	}
	if err != nil {
		return s.acted(ctx, act, op, err)
	}
	return s.done(ctx, act, op, "filled "+e.String()+note, r.Generation)
}

// notSent tells why the browser did not send a form: what it holds against the
// field, in words that may be the page's.
func (s *Session) notSent(ctx context.Context, e digest.Element) string {
	why, err := s.live.Invalid(ctx, node(e))
	if err != nil || why == "" {
		return ""
	}
	if why, err = s.rules.guard.Output(why); err != nil {
		return ""
	}
	return ", not sent: the browser says " + quoted(why)
}

// maxTyped bounds what one call types, in bytes.
const maxTyped = 100_000

// mayFill judges a field.
func (s *Session) mayFill(e digest.Element) error {
	switch {
	case e.Protected && !s.o.AllowSensitiveFill:
		return reasonError("fill", ReasonProtected, "", nil)
	case e.Disabled:
		return reasonError("fill", ReasonDisabled, "", nil)
	case e.ReadOnly:
		return reasonError("fill", ReasonNotEditable, "It is read-only.", nil)
	case !e.Fillable:
		return reasonError("fill", ReasonNotEditable, "It is no field; click it instead.", nil)
	}
	return s.mayActOn(e.Frame)
}

// maySubmitFrom judges where the form of a field goes.
func (s *Session) maySubmitFrom(ctx context.Context, e digest.Element) error {
	action, method, err := s.live.Form(ctx, node(e))
	if err != nil || action == "" {
		return err
	}
	e.Action, e.Method = action, method
	return s.maySubmit(e)
}

// fill gives the field its value. note is what is to be said about it, in
// words that may be the page's, in quotes.
func (s *Session) fill(ctx context.Context, e digest.Element, text string) (note string, err error) {
	_, set := tab.Settings[e.Type]
	switch {
	case e.Tag == "select":
		if _, err = s.confirm(ctx, e); err == nil {
			err = s.live.Choose(ctx, node(e), e.Multiple, text)
		}
		if errors.Is(err, tab.ErrReverted) {
			return s.holds(ctx, e), nil
		}
	case e.Slides():
		return s.slide(ctx, e, text)
	case e.Checked != digest.None && !e.Editable:
		return s.setChecked(ctx, e, text)
	case e.Tag == "input" && set:
		if _, err = s.confirm(ctx, e); err == nil {
			err = s.live.Set(ctx, node(e), e.Type, text)
		}
		if errors.Is(err, tab.ErrValue) {
			return "", reasonError("fill", ReasonNotEditable, "This field takes "+tab.Settings[e.Type].Form+".", err)
		}
	case e.Tag == "input" && e.Type == "number" && strings.TrimSpace(text) != "" && !tab.Number.MatchString(strings.TrimSpace(text)):
		return "", reasonError("fill", ReasonNotEditable, "This field takes a number, such as 12.5.", tab.ErrValue)
	case !e.Editable:
		return "", reasonError("fill", ReasonNotEditable, "It is no field that text can be typed into; click it instead.", nil)
	default:
		return s.typeIn(ctx, e, text)
	}
	if err != nil {
		return "", err
	}
	return s.readBack(ctx, e, text)
}

// holds tells what a field holds that does not hold what it was given.
func (s *Session) holds(ctx context.Context, e digest.Element) string {
	now, err := s.live.Describe(ctx, node(e))
	if err != nil || now.Protected || s.guardElement(now) != nil {
		return ", which does not hold that now"
	}
	return ", which now holds " + quoted(now.Value)
}

// slide moves a slider of the page's own making.
func (s *Session) slide(ctx context.Context, e digest.Element, text string) (string, error) {
	to, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(to) || math.IsInf(to, 0) {
		return "", reasonError("fill", ReasonNotEditable, "This field takes a number.", tab.ErrValue)
	}
	if _, err := s.confirm(ctx, e); err != nil {
		return "", err
	}
	err = s.live.Slide(ctx, node(e), to)
	if errors.Is(err, tab.ErrValue) {
		return s.holds(ctx, e), nil
	}
	return "", err
}

// setChecked gives something that is checked or not the state that text names.
func (s *Session) setChecked(ctx context.Context, e digest.Element, text string) (string, error) {
	var want digest.Tri
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "checked", "true", "on":
		want = digest.True
	case "unchecked", "false", "off":
		want = digest.False
	}
	if want == digest.None || want == digest.False && e.Role == "radio" {
		return "", reasonError("fill", ReasonNotEditable, `It takes "checked" or "unchecked", a radio button only the former; or click it.`, nil)
	}
	if e.Checked == want {
		return " (it was so already)", nil
	}
	if err := s.mayClick(e); err != nil {
		return "", err
	}
	if err := s.click(ctx, e); err != nil {
		return "", err
	}
	now, err := s.live.Describe(ctx, node(e))
	if err == nil && now.Checked != want {
		return " (but it did not become " + map[digest.Tri]string{digest.True: "checked", digest.False: "unchecked"}[want] + ")", nil
	}
	return "", nil // an element that is gone is told by the effect
}

// typeIn types into a text field or an editor.
func (s *Session) typeIn(ctx context.Context, e digest.Element, text string) (string, error) {
	if err := s.click(ctx, e); err != nil {
		return "", err
	}
	again := func(ctx context.Context) error {
		now, err := s.confirmField(ctx, e)
		if err != nil {
			return err
		}
		return s.mayFill(now)
	}
	if err := s.live.Type(ctx, node(e), text, e.Tag != "input", again); err != nil {
		return "", err
	}
	if err := s.live.Run(ctx); err != nil {
		return "", err
	}
	return s.readBack(ctx, e, text)
}

// confirmField reads a field again that has got the focus. Its type may have
// changed with that, which decides anew whether it is protected.
func (s *Session) confirmField(ctx context.Context, e digest.Element) (digest.Element, error) {
	now, err := s.live.Describe(ctx, node(e))
	if err != nil {
		return e, err
	}
	if now.Protected {
		return *now, nil
	}
	return s.compare(e, now)
}

// readBack tells what a field holds where that is not what it was given.
func (s *Session) readBack(ctx context.Context, e digest.Element, text string) (string, error) {
	if e.Protected || e.Tag == "select" {
		return "", nil
	}
	holds, err := s.live.Value(ctx, node(e))
	if errors.Is(err, tab.ErrGone) || err == nil && sameText(holds, text) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	out, err := s.rules.guard.Output(extract.Clean(holds))
	if err != nil {
		return "", err
	}
	return ", which now holds " + quoted(out), nil
}

// sameText compares what a field holds with what it was given: line ends and
// the space around them are the browser's.
func sameText(a, b string) bool {
	fold := func(s string) string {
		return strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u00a0", " ").Replace(s))
	}
	if fold(a) == fold(b) {
		return true
	}
	// Editors write paragraphs, which read back with an empty line between.
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ") && strings.Contains(b, "\n")
}

// finish presses the key that ends a fill, or submits. A key goes to the field
// and nowhere else: where it would, nothing is pressed, which note tells.
func (s *Session) finish(ctx context.Context, e digest.Element, submit bool, key tab.Key) (note string, err error) {
	if !submit && key == "" {
		return "", nil
	}
	if submit && !e.Editable {
		there, err := s.live.Submit(ctx, node(e))
		if err == nil && !there {
			return "", reasonError("fill", ReasonNotEditable, "The value was set, but the field is in no form that could be submitted.", nil)
		}
		return "", err
	}
	if has, err := s.live.Focus(ctx, node(e)); errors.Is(err, tab.ErrGone) || err == nil && !has {
		return ", which then lost the focus, so no key was pressed", nil
	} else if err != nil {
		return "", err
	}
	if !submit {
		return "", s.live.Press(ctx, key)
	}
	return "", s.enter(ctx, e)
}

// enter submits the form of a text field as a person would.
func (s *Session) enter(ctx context.Context, e digest.Element) error {
	many := e.Tag != "input"
	before := ""
	if many {
		var err error
		if before, err = s.live.Value(ctx, node(e)); err != nil {
			return err
		}
	}
	if err := s.live.Press(ctx, tab.KeyEnter); err != nil || !many {
		return err
	}
	// Where Enter is a new line, and nothing else, the form is submitted.
	after, err := s.live.Value(ctx, node(e))
	if err != nil || len(after) <= len(before) || strings.TrimSpace(after) != strings.TrimSpace(before) {
		return nil
	}
	if _, err := s.live.Submit(ctx, node(e)); err != nil && !errors.Is(err, tab.ErrGone) {
		return err
	}
	return nil
}
