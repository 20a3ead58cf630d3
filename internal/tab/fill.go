package tab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/chromedp/cdproto/cdp/jsonv2"
)

var (
	// ErrFocus: the element does not take the focus, or something took it away.
	ErrFocus = errors.New("tab: the element does not keep the focus")
	// ErrValue: the field refuses the value.
	ErrValue = errors.New("tab: the field does not take this value")
)

// OptionError: a select has no option, or more than one, of that text.
type OptionError struct {
	Several bool
	Options []string // what there is, in the page's words
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("tab: no such option, or several, of %d", len(e.Options))
}

// Settings are the types of input whose value is set, because nothing can be
// typed into them that would not depend on the language of the browser; by the
// form of what they take.
var Settings = map[string]struct {
	Form string
	re   *regexp.Regexp
}{
	"date":           {"YYYY-MM-DD", regexp.MustCompile(`^\d{4,6}-\d\d-\d\d$`)},
	"month":          {"YYYY-MM", regexp.MustCompile(`^\d{4,6}-\d\d$`)},
	"week":           {"YYYY-Www", regexp.MustCompile(`^\d{4,6}-W\d\d$`)},
	"time":           {"HH:MM", regexp.MustCompile(`^\d\d:\d\d(:\d\d(\.\d{1,3})?)?$`)},
	"datetime-local": {"YYYY-MM-DDTHH:MM", regexp.MustCompile(`^\d{4,6}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?$`)},
	"color":          {"#rrggbb", regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)},
	"range":          {"a number", Number},
}

// Number is what a number field takes.
var Number = regexp.MustCompile(`^-?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$`)

// Set gives an input of a type in [Settings] its value. The error is
// [ErrValue] if it does not take it; it then keeps the one it had.
func (l *Live) Set(ctx context.Context, n Node, typ, text string) error {
	s, ok := Settings[typ]
	if text = strings.TrimSpace(text); !ok || text != "" && !s.re.MatchString(text) {
		return ErrValue
	}
	return l.with(ctx, n, "set", text, func(answer string) error {
		if answer == "refused" {
			return ErrValue
		}
		return nil
	})
}

// with calls a function of fill.js that changes the page, and settles.
func (l *Live) with(ctx context.Context, n Node, function, arg string, judge func(answer string) error) error {
	return l.act(ctx, func(alive context.Context, t *Tab) error {
		answer, err := t.on(alive, n, function, arg)
		if err != nil {
			return err
		}
		return judge(answer)
	})
}

// ask calls a function of fill.js that changes nothing.
func (l *Live) ask(ctx context.Context, n Node, function, arg string) (string, error) {
	t, err := l.page()
	if err != nil {
		return "", err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	return t.on(ctx, n, function, arg)
}

// choice is one option of a select.
type choice struct {
	text, value, group string
	disabled, selected bool
}

func (l *Live) choices(ctx context.Context, n Node) ([]choice, error) {
	raw, err := l.ask(ctx, n, "options", "")
	if err != nil {
		return nil, err
	}
	var rows [][5]any
	if err := jsonv2.Unmarshal([]byte(raw), &rows); err != nil {
		return nil, fmt.Errorf("tab: options: %w", err)
	}
	var all []choice
	for _, r := range rows {
		var c choice
		c.text, _ = r[0].(string)
		c.value, _ = r[1].(string)
		c.group, _ = r[2].(string)
		c.disabled, _ = r[3].(bool)
		c.selected, _ = r[4].(bool)
		c.text = oneSpace(c.text)
		all = append(all, c)
	}
	return all, nil
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

// Choose picks the option of a select that has this text or this value; of one
// that takes several, each line of text names one. The error is an
// [*OptionError] if there is none or more than one.
func (l *Live) Choose(ctx context.Context, n Node, multiple bool, text string) error {
	all, err := l.choices(ctx, n)
	if err != nil {
		return err
	}
	wanted := []string{text}
	if multiple {
		wanted = nil
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				wanted = append(wanted, line)
			}
		}
	}
	picked := []int{}
	for _, w := range wanted {
		i, err := pick(all, w)
		if err != nil {
			return err
		}
		picked = append(picked, i)
	}
	slices.Sort(picked)
	numbers, err := jsonv2.Marshal(slices.Compact(picked))
	if err != nil {
		return err
	}
	if err := l.with(ctx, n, "choose", string(numbers), func(string) error { return nil }); err != nil {
		return err
	}
	switch is, err := l.ask(ctx, n, "chosen", ""); {
	case errors.Is(err, ErrGone):
		return nil
	case err != nil:
		return err
	case is != string(numbers):
		return ErrReverted
	}
	return nil
}

// ErrReverted: the field took the value, and the page has changed it since.
var ErrReverted = errors.New("tab: the page has changed the value")

// Focus gives an element the focus, if it has lost it. It reports whether it
// has it.
func (l *Live) Focus(ctx context.Context, n Node) (bool, error) {
	has, err := l.ask(ctx, n, "focus", "")
	return has == "yes", err
}

// maxSlides bounds how often an arrow key is pressed for one slider.
const maxSlides = 1000

// Slide moves a slider of the page's own making to a number, by the arrow keys.
// The error is [ErrValue] if it does not get there.
func (l *Live) Slide(ctx context.Context, n Node, to float64) error {
	return l.act(ctx, func(alive context.Context, t *Tab) error {
		if has, err := t.on(alive, n, "focus", ""); err != nil || has != "yes" {
			return cmp.Or(err, ErrFocus)
		}
		at, err := t.slidTo(alive, n)
		forth, back := KeyRight, KeyLeft
		for left := maxSlides; err == nil && math.Abs(at-to) > 1e-9; {
			key := forth
			if at > to {
				key = back
			}
			was, times := at, 1
			for ; times > 0 && left > 0; times, left = times-1, left-1 {
				if _, err := t.key(alive, key, 0); err != nil {
					return unresponsive(alive, err)
				}
				if at != was {
					continue // how far a step goes is known
				}
				if at, err = t.slidTo(alive, n); err == nil && at == was { // some draw themselves first
					t.drawFrames(alive, fewFrames)
					at, err = t.slidTo(alive, n)
				}
				step := at - was
				switch {
				case err != nil:
					return err
				case step == 0 || left <= 1:
					return ErrValue
				case (step > 0) != (to > was): // it goes the other way round
					forth, back = back, forth
				case math.Abs(to-was) < math.Abs(step)*.75: // there is no step in between
					return ErrValue
				default:
					times = 1 + max(0, min(left, int((to-at)/step+.5)))
				}
			}
			at, err = t.slidTo(alive, n)
		}
		return err
	})
}

// slidTo is where a slider stands.
func (t *Tab) slidTo(ctx context.Context, n Node) (float64, error) {
	s, err := t.on(ctx, n, "number", "")
	if err != nil {
		return 0, err
	}
	if s == "" {
		return 0, ErrValue
	}
	return strconv.ParseFloat(s, 64)
}

// pick finds the one option that is meant: by text, else by value, else by
// text without regard to case, or with its group as "group: text".
func pick(all []choice, want string) (int, error) {
	want = oneSpace(want)
	for _, is := range []func(choice) bool{
		func(c choice) bool { return c.text == want },
		func(c choice) bool { return c.value == want },
		func(c choice) bool { return strings.EqualFold(c.text, want) },
		func(c choice) bool { return c.group != "" && strings.EqualFold(oneSpace(c.group)+": "+c.text, want) },
	} {
		found, n := -1, 0
		for i, c := range all {
			if !c.disabled && is(c) {
				found = i
				n++
			}
		}
		switch {
		case n == 1:
			return found, nil
		case n > 1:
			return 0, optionError(all, true)
		}
	}
	return 0, optionError(all, false)
}

// maxListed bounds the options that an error lists.
const maxListed = 20

func optionError(all []choice, several bool) error {
	e := &OptionError{Several: several}
	for _, c := range all {
		if len(e.Options) == maxListed {
			e.Options = append(e.Options, "… +"+strconv.Itoa(len(all)-maxListed)+" more")
			break
		}
		s := c.text
		if c.group != "" {
			s = oneSpace(c.group) + ": " + s
		}
		if c.disabled {
			s += " (disabled)"
		}
		e.Options = append(e.Options, s)
	}
	return e
}

// Type replaces what a text field, or an editor, holds. It must have been
// clicked; again is asked, with the focus on the field and before anything is
// typed, whether it still may be. It does not wait for the page to settle.
func (l *Live) Type(ctx context.Context, n Node, text string, multiline bool, again func(context.Context) error) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	ctx, stop := t.whileAlive(ctx)
	defer stop()
	if has, err := t.on(ctx, n, "focus", ""); err != nil {
		return err
	} else if has != "yes" {
		return ErrFocus
	}
	if err := again(ctx); err != nil {
		return err
	}
	held, err := t.on(ctx, n, "select", "")
	switch {
	case err != nil:
		return err
	case held == "lost":
		return ErrFocus
	}
	l.turn(t, actSpan)
	defer l.spans.begin(ctx, spanAct)()
	switch {
	case text == "" && held == "some":
		_, err = t.key(ctx, "Delete", 0)
	case text != "" && multiline:
		_, err = t.insert(ctx, text)
	case text != "":
		_, err = t.insert(ctx, newlines.Replace(text))
	}
	if err != nil {
		return unresponsive(ctx, err)
	}
	switch how, err := t.on(ctx, n, "typed", ""); {
	case errors.Is(err, ErrGone): // the page has drawn itself anew
	case err != nil:
		return err
	case how == "stolen":
		return ErrFocus
	}
	return nil
}

// newlines become spaces where a field has one line, as when pasted.
var newlines = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ")

// Run lets the page go on after [Live.Type], until it has settled.
func (l *Live) Run(ctx context.Context) error {
	t, err := l.page()
	if err != nil {
		return err
	}
	return l.after(ctx, t, l.run(ctx, t))
}

// Value is what a text field or an editor holds now.
func (l *Live) Value(ctx context.Context, n Node) (string, error) { return l.ask(ctx, n, "value", "") }

// Submit submits the form that an element is in. It reports whether there is
// one.
func (l *Live) Submit(ctx context.Context, n Node) (bool, error) {
	there := true
	err := l.with(ctx, n, "submit", "", func(answer string) error {
		there = answer != "none"
		return nil
	})
	return there, err
}

// Invalid is what the browser holds against a field, in words, or "".
func (l *Live) Invalid(ctx context.Context, n Node) (string, error) {
	return l.ask(ctx, n, "invalid", "")
}

// Form is where the form of an element goes and how; empty if it is in none.
func (l *Live) Form(ctx context.Context, n Node) (action, method string, err error) {
	raw, err := l.ask(ctx, n, "form", "")
	if err != nil || raw == "" {
		return "", "", err
	}
	var pair [2]string
	if err := jsonv2.Unmarshal([]byte(raw), &pair); err != nil {
		return "", "", fmt.Errorf("tab: form: %w", err)
	}
	return pair[0], pair[1], nil
}
