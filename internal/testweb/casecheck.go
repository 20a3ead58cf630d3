package testweb

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Result is what a step returned, as far as a case can judge it.
type Result struct {
	Text, Title, FinalURL string
	Status, Reason        string
	HTTPStatus            int
	ContentType           string
	Truncated             bool
	// Digest, Note and Error are what sessions add: the list of elements,
	// the remarks beside it, and the text of a refusal.
	Digest, Note, Error string
}

// Check judges the results of a case, one per step (a zero Result for a step
// that returns nothing), and returns what is wrong, nil if nothing. What it
// cannot judge is named by [Expect.Beyond].
//
// Expectations of text, URL and status are about each call without a session,
// and about the last page of each session. Expectations of digests, notes and
// errors are about all steps together: something is had when one of them has
// it, and lacked when none has.
func (c *Case) Check(got []Result) []string {
	if len(got) != len(c.Steps) {
		return []string{fmt.Sprintf("%d results for %d steps", len(got), len(c.Steps))}
	}
	j := &judge{c: c, got: got}
	j.steps()
	j.results()
	j.texts()
	j.sessions()
	return j.failures
}

// judge collects failures.
type judge struct {
	c        *Case
	got      []Result
	failures []string
}

func (j *judge) fail(format string, args ...any) {
	j.failures = append(j.failures, fmt.Sprintf(format, args...))
}

// pick returns the results of the steps that keep accepts.
func (j *judge) pick(keep func(i int, s Step) bool) []Result {
	var out []Result
	for i, s := range j.c.Steps {
		if keep(i, s) {
			out = append(out, j.got[i])
		}
	}
	return out
}

func returnsPage(_ int, s Step) bool { return s.Reads() || s.Acts() }

// final returns the results that expectations of text are about.
func (j *judge) final() []Result {
	last := make(map[string]int)
	for i, s := range j.c.Steps {
		if s.Acts() {
			last[s.Session] = i
		}
	}
	return j.pick(func(i int, s Step) bool {
		at, ok := last[s.Session]
		return s.Reads() || s.Acts() && ok && at == i
	})
}

func (j *judge) steps() {
	for i, s := range j.c.Steps {
		r := j.got[i]
		switch {
		case s.ExpectError.Set && r.Error == "":
			j.fail("step %d, %v: no error", i, s)
		case !strings.Contains(r.Error, s.ExpectError.Word):
			j.fail("step %d, %v: error %q lacks %q", i, s, r.Error, s.ExpectError.Word)
		}
		if s.ExpectStatus != "" && r.Status != s.ExpectStatus {
			j.fail("step %d, %v: status %q, want %q", i, s, r.Status, s.ExpectStatus)
		}
		if j.c.Expect.ErrorHasDigest && s.ExpectError.Set && r.Digest == "" {
			j.fail("step %d, %v: the error comes without a digest", i, s)
		}
	}
}

func (j *judge) results() {
	pages := j.pick(returnsPage)
	for i, want := range j.c.Expect.Results {
		for _, f := range want.check(pages[i]) {
			j.fail("result %d: %s", i, f)
		}
	}
	if want := j.c.Expect.Result; want != nil && len(pages) > 0 {
		for _, f := range want.check(pages[len(pages)-1]) {
			j.fail("last result: %s", f)
		}
	}
}

func (w WantResult) check(r Result) []string {
	var out []string
	differs := func(what string, got, want any, asked bool) {
		if asked && got != want {
			out = append(out, fmt.Sprintf("%s %#v, want %#v", what, got, want))
		}
	}
	differs("http_status", r.HTTPStatus, w.HTTPStatus, w.HTTPStatus != 0)
	differs("status", r.Status, w.Status, w.Status != "")
	differs("reason", r.Reason, w.Reason, w.Reason != "")
	media, _, _ := strings.Cut(r.ContentType, ";")
	differs("content_type", strings.TrimSpace(media), w.ContentType, w.ContentType != "")
	if w.Text != nil {
		differs("text", strings.TrimSpace(r.Text), *w.Text, true)
	}
	if w.Truncated != nil {
		differs("truncated", r.Truncated, *w.Truncated, true)
	}
	for _, sub := range []string{w.URLHas, w.FinalURLHas} {
		if !strings.Contains(r.FinalURL, sub) {
			out = append(out, fmt.Sprintf("final URL %q lacks %q", r.FinalURL, sub))
		}
	}
	for _, sub := range w.TextHas {
		if !strings.Contains(r.Text, sub) {
			out = append(out, fmt.Sprintf("text lacks %q", sub))
		}
	}
	for _, sub := range w.TextLacks {
		if strings.Contains(r.Text, sub) {
			out = append(out, fmt.Sprintf("text has %q", sub))
		}
	}
	return out
}

// Parts of a result in which sub-strings are looked for.
func textOf(r Result) string         { return r.Text }
func urlOf(r Result) string          { return r.FinalURL }
func digestOf(r Result) string       { return r.Digest }
func noteOf(r Result) string         { return r.Note }
func errorOf(r Result) string        { return r.Error }
func digestOrNoteOf(r Result) string { return r.Digest + "\n" + r.Note }
func allOf(r Result) string {
	return strings.Join([]string{r.Text, r.Title, r.FinalURL, r.Digest, r.Note, r.Error}, "\n")
}

// has fails for each sub-string that no result holds.
func (j *judge) has(what string, in []Result, part func(Result) string, subs []string) {
	for _, sub := range subs {
		if !slices.ContainsFunc(in, func(r Result) bool { return strings.Contains(part(r), sub) }) {
			j.fail("%s: nothing has %q", what, sub)
		}
	}
}

// lacks fails for each sub-string that a result holds.
func (j *judge) lacks(what string, in []Result, part func(Result) string, subs []string) {
	for _, sub := range subs {
		if slices.ContainsFunc(in, func(r Result) bool { return strings.Contains(part(r), sub) }) {
			j.fail("%s: something has %q", what, sub)
		}
	}
}

func (j *judge) texts() {
	e, final := j.c.Expect, j.final()
	j.has("text_has", final, textOf, e.TextHas)
	j.lacks("text_lacks", final, textOf, e.TextLacks)
	j.has("url_has", final, urlOf, e.URLHas)
	j.lacks("url_lacks", final, urlOf, e.URLLacks)
	j.lacks("nowhere", j.got, allOf, e.Nowhere)
	for i, r := range final {
		if e.Status != "" && r.Status != e.Status {
			j.fail("status %q, want %q", r.Status, e.Status)
		}
		if e.ValidUTF8 && !utf8.ValidString(r.Text) {
			j.fail("valid_utf8: text %d is not", i)
		}
		for _, sub := range e.EachOnce {
			if n := strings.Count(r.Text, sub); n != 1 {
				j.fail("each_once: %q occurs %d times", sub, n)
			}
		}
	}
	if len(e.Order) > 0 && !slices.ContainsFunc(final, func(r Result) bool { return inOrder(r.Text, e.Order) }) {
		j.fail("order: nothing has %q one after the other", e.Order)
	}
	if len(e.TextHasAny) > 0 && !slices.ContainsFunc(final, func(r Result) bool {
		return slices.ContainsFunc(e.TextHasAny, func(sub string) bool { return strings.Contains(r.Text, sub) })
	}) {
		j.fail("text_has_any: nothing has one of %q", e.TextHasAny)
	}
}

func inOrder(text string, subs []string) bool {
	for _, sub := range subs {
		_, rest, ok := strings.Cut(text, sub)
		if !ok {
			return false
		}
		text = rest
	}
	return true
}

func (j *judge) sessions() {
	e := j.c.Expect
	j.has("digest_has", j.got, digestOf, e.DigestHas)
	j.lacks("digest_lacks", j.got, digestOf, e.DigestLacks)
	j.has("note_has", j.got, noteOf, e.NoteHas)
	j.has("error_has", j.got, errorOf, e.ErrorHas)
	j.lacks("error_lacks", j.got, errorOf, e.ErrorLacks)
	j.has("digest_or_note_has", j.got, digestOrNoteOf, e.DigestOrNoteHas)

	click := slices.IndexFunc(j.c.Steps, func(s Step) bool { return s.Call == "click" })
	fill := slices.IndexFunc(j.c.Steps, func(s Step) bool { return s.Call == "fill" })
	after := func(first int) func(int, Step) bool {
		return func(i int, _ Step) bool { return first >= 0 && i >= first }
	}
	in := func(session string) func(int, Step) bool {
		return func(_ int, s Step) bool { return s.Session == session }
	}
	j.lacks("text_lacks_before_click", j.pick(func(i int, _ Step) bool { return i < click }), textOf, e.TextLacksBeforeClick)
	j.has("text_has_after_click", j.pick(after(click)), textOf, e.TextHasAfterClick)
	j.has("digest_has_after_fill", j.pick(after(fill)), digestOf, e.DigestHasAfterFill)
	j.lacks("after_scroll_text_lacks", j.pick(func(_ int, s Step) bool { return s.ScrollPages != 0 }), textOf, e.AfterScrollTextLacks)
	j.lacks("session_A_text_lacks", j.pick(in("A")), textOf, e.SessionATextLacks)
	j.has("session_C_text_has", j.pick(in("C")), textOf, e.SessionCTextHas)
	for i, r := range j.got {
		if e.MaxDigestBytes > 0 && len(r.Digest) > e.MaxDigestBytes {
			j.fail("max_digest_bytes: step %d has %d, want at most %d", i, len(r.Digest), e.MaxDigestBytes)
		}
	}
}

// beyond are the fields of Expect that Check does not look at.
var beyond = []string{
	"PageJS", "CanaryHits", "ProxyRefusalsAtLeast", "TabsAfter", "FilesOnDisk", "DigestCount",
	"DigestCountEnabled", "DigestCountAtLeast", "TableRows", "Paging", "Decide", "Note",
}

// Beyond returns the keys of the expectations that are set and that
// [Case.Check] does not judge: the caller must.
func (e Expect) Beyond() []string {
	var keys []string
	v := reflect.ValueOf(e)
	for _, name := range beyond {
		if !v.FieldByName(name).IsZero() {
			f, _ := v.Type().FieldByName(name)
			keys = append(keys, f.Tag.Get("json"))
		}
	}
	return keys
}
