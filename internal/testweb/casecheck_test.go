package testweb

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Steps of the cases below: a reading call, a session of three calls, a pause,
// another session.
const checkSteps = `"steps": [
	{"call": "browse_page", "path": ""},
	{"call": "navigate", "path": ""},
	{"call": "click", "target": "button \"Go\"", "expect_error": "stale"},
	{"wait_ms": 1},
	{"call": "state", "scroll_pages": 1},
	{"session": "A", "call": "navigate", "path": "", "expect_status": "ok"}
]`

// good are results with which nothing is wrong.
func good() []Result {
	return []Result{
		{Text: "one two three", Title: "T", FinalURL: "http://case.test/end.html", Status: "ok", HTTPStatus: 200, ContentType: "text/html; charset=utf-8"},
		{Text: "before", Digest: `button "Go"`, Status: "ok", FinalURL: "http://case.test/"},
		{Error: "stale index", Note: "a note", Digest: "d", Status: "ok"},
		{},
		{Text: "after", Status: "ok", FinalURL: "http://case.test/", Truncated: true},
		{Text: "mine", Status: "ok", FinalURL: "http://case.test/"},
	}
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, expect string
		change       func([]Result)
		want         []string // parts of the failures, in order
	}{
		{name: "nothing expected", expect: `{}`},
		{name: "all of it", expect: `{
			"status": "ok", "text_has": ["two", "after"], "text_has_any": ["nine", "one"], "text_lacks": ["before"],
			"order": ["one", "two"], "digest_has": ["button"], "digest_lacks": ["link"], "note_has": ["note"], "error_has": ["index"],
			"error_lacks": ["secret"], "url_has": ["end.html"], "url_lacks": ["data:"], "nowhere": ["hidden"], "valid_utf8": true,
			"text_lacks_before_click": ["after"], "text_has_after_click": ["after"], "after_scroll_text_lacks": ["before"],
			"session_A_text_lacks": ["one"], "digest_or_note_has": ["note"], "max_digest_bytes": 11, "error_has_digest": true,
			"results": [{"http_status": 200, "text": "one two three", "text_has": ["two"], "text_lacks": ["six"], "final_url_has": "end", "content_type": "text/html", "truncated": false}],
			"result": {"url_has": "case.test", "text": "mine"}}`},
		{name: "text is missing", expect: `{"text_has": ["before"]}`, want: []string{`text_has: nothing has "before"`}},
		{name: "text is there", expect: `{"text_lacks": ["three", "mine"]}`, want: []string{`"three"`, `"mine"`}},
		{name: "none of many", expect: `{"text_has_any": ["eight", "nine"]}`, want: []string{"text_has_any"}},
		{name: "wrong order", expect: `{"order": ["two", "one"]}`, want: []string{"order"}},
		{name: "twice", expect: `{"each_once": ["e"]}`, want: []string{"4 times"}, change: func(r []Result) {
			r[0].Text = "eee e"
			r[4].Text, r[5].Text = "e", "e"
		}},
		{name: "status", expect: `{"status": "ok"}`, want: []string{`status "busy"`}, change: func(r []Result) { r[4].Status = "busy" }},
		{name: "no error", expect: `{}`, want: []string{`step 2, click "button \"Go\"": no error`}, change: func(r []Result) { r[2].Error = "" }},
		{name: "another error", expect: `{}`, want: []string{`lacks "stale"`}, change: func(r []Result) { r[2].Error = "no such index" }},
		{name: "step status", expect: `{}`, want: []string{`step 5, navigate ""`}, change: func(r []Result) { r[5].Status = "error" }},
		{name: "error without digest", expect: `{"error_has_digest": true}`, want: []string{"without a digest"}, change: func(r []Result) { r[2].Digest = "" }},
		{name: "hidden text in a title", expect: `{"nowhere": ["T"]}`, want: []string{"nowhere"}},
		{name: "bad UTF-8", expect: `{"valid_utf8": true}`, want: []string{"valid_utf8"}, change: func(r []Result) { r[0].Text = "\xff" }},
		{name: "results", expect: `{"results": [{"http_status": 404, "reason": "too_large", "text": "x", "truncated": true, "url_has": "#two", "content_type": "text/plain", "text_has": ["nine"], "text_lacks": ["one"]}]}`,
			want: []string{"http_status 200", "reason", "content_type", "text", "truncated", "#two", "lacks", "text has"}},
		{name: "a large digest", expect: `{"max_digest_bytes": 5}`, want: []string{"step 1 has 11"}},
		{name: "session C never was", expect: `{"session_C_text_has": ["x"]}`, want: []string{"session_C"}},
	} {
		c := loadCase(t, `{"id": "c1", `+checkSteps+`, "expect": `+tc.expect+`}`, map[string]string{})
		got := good()
		if tc.change != nil {
			tc.change(got)
		}
		failures := c.Check(got)
		if len(failures) != len(tc.want) {
			t.Errorf("%s: failures %q, want %q", tc.name, failures, tc.want)
			continue
		}
		for i, f := range failures {
			if !strings.Contains(f, tc.want[i]) {
				t.Errorf("%s: failure %q, want %q", tc.name, f, tc.want[i])
			}
		}
	}
}

func TestCheckWantsOneResultPerStep(t *testing.T) {
	c := loadCase(t, `{"id": "c1", `+checkSteps+`}`, map[string]string{})
	if got := c.Check(nil); len(got) != 1 {
		t.Errorf("failures %q", got)
	}
}

func TestBeyondNamesWhatIsNotJudged(t *testing.T) {
	c := loadCase(t, `{"id": "c1", `+checkSteps+`, "expect": {"canary_hits": 0, "page_js": [["a", 1]], "text_has": ["x"], "table_rows": 2}}`, map[string]string{})
	if diff := cmp.Diff([]string{"page_js", "canary_hits", "table_rows"}, c.Expect.Beyond()); diff != "" {
		t.Errorf("Beyond() (-want +got):\n%s", diff)
	}
}
