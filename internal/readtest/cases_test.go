package readtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/testweb"
)

// decided holds the cases of which bellglass decides a point in its own way,
// and says why.
var decided = map[string]func(*testweb.Case){
	// A refusal is told by its own word, more exactly than "egress".
	"eg02-redirect-to-blocked": func(c *testweb.Case) {
		for i := range c.Expect.Results {
			if c.Expect.Results[i].Reason == "egress_denied" {
				c.Expect.Results[i].Reason = string(bellglass.ReasonAddress)
			}
		}
	},
	"na15-compressed": func(c *testweb.Case) {
		for i := range c.Expect.Results {
			if c.Expect.Results[i].Reason == "too_large" {
				c.Expect.Results[i].Reason = string(bellglass.ReasonTooLarge)
			}
		}
	},
}

// TestCases runs the reading steps of every case: pages that once broke a tool
// which does this job. Steps that act are for sessions.
func TestCases(t *testing.T) {
	cases, err := testweb.LoadCases("../../testdata/cases/pages")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases {
		var steps []testweb.Step
		for _, s := range c.Steps {
			if s.Reads() && (s.Mode == "" || s.Mode == "text") {
				steps = append(steps, s)
			}
		}
		if c.Steps = steps; len(steps) == 0 {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			if f := decided[c.ID]; f != nil {
				f(c)
			}
			runCase(t, c)
		})
	}
	if ran < 30 {
		t.Errorf("only %d cases were run", ran)
	}
}

func runCase(t *testing.T, c *testweb.Case) {
	scheme := "http"
	if c.ID == "na15-compressed" { // Chromium takes brotli over TLS only
		scheme = "https"
	}
	host := strings.ToLower(c.ID) + ".case.test"
	web.Handle(host, c.Handler())
	canary := testweb.NewCanary(t)
	fill := strings.NewReplacer("PORT", fmt.Sprint(canary.Port()), "CANARY", canary.HostPort(), "HOST", host)
	base, last := scheme+"://"+host+"/", ""
	var got []testweb.Result
	for i, s := range c.Steps {
		target := last
		switch {
		case s.URL != "":
			target = fill.Replace(s.URL)
		case s.Path != nil:
			target = base + fill.Replace(*s.Path)
		}
		last = target
		if s.PageAll {
			got = append(got, pageAll(t, target, s.MaxChars))
			continue
		}
		res := browseWithin(t, target, time.Duration(s.MaxMS)*time.Millisecond)
		if s.ExpectStatus != "" && string(res.Status) != s.ExpectStatus {
			t.Errorf("step %d: status %s (%s), want %s", i, res.Status, res.Reason, s.ExpectStatus)
		}
		if !utf8.ValidString(res.Text) {
			t.Errorf("step %d: the text is not valid UTF-8", i)
		}
		got = append(got, testweb.Result{
			Text: res.Text, Title: res.Title, FinalURL: res.FinalURL,
			Status: string(res.Status), Reason: string(res.Reason),
			HTTPStatus: res.HTTPStatus, ContentType: res.ContentType, Truncated: res.Truncated, Note: res.Hint,
		})
	}
	for _, wrong := range c.Check(got) {
		t.Error(wrong)
	}
	if n := c.Expect.TableRows; n > 0 {
		if rows := strings.Count("\n"+got[0].Text, "\n|") - 1; rows != n { // less the rule below the head
			t.Errorf("%d table rows, want %d", rows, n)
		}
	}
	if hits := canary.Hits(); c.Expect.CanaryHits != nil && len(hits) != *c.Expect.CanaryHits {
		t.Errorf("the canary was reached: %v", hits)
	}
	if t.Failed() {
		for i, r := range got {
			t.Logf("step %d: %s %s %d %s\n%s", i, r.Status, r.Reason, r.HTTPStatus, r.FinalURL, clip(r.Text, 1500))
		}
	}
}

// browseWithin reads a page that must not take longer than limit, if that is
// not zero. A machine that is busy with something else gets three tries.
func browseWithin(t *testing.T, url string, limit time.Duration) bellglass.Result {
	t.Helper()
	var took [3]time.Duration
	var res bellglass.Result
	for i := range took {
		start := time.Now()
		res = browse(t, bg, url)
		if took[i] = time.Since(start); limit == 0 || took[i] <= limit {
			return res
		}
	}
	t.Errorf("%s took %v, at most %v", url, took, limit)
	return res
}

// pageAll reads a page piece by piece, and checks that the pieces are the
// whole.
func pageAll(t *testing.T, url string, limit int) testweb.Result {
	small := newBrowser(t, func(o *bellglass.Options) { o.TextLimit = limit })
	large := newBrowser(t, func(o *bellglass.Options) { o.TextLimit = 1_000_000 })
	whole := browse(t, large, url)
	var pieces []string
	for offset := 0; ; {
		res, err := small.Browse(context.Background(), bellglass.Request{Principal: who, URL: url, Offset: offset})
		if err != nil || res.Status != bellglass.StatusOK {
			t.Fatalf("offset %d: %v %s", offset, err, res.Reason)
		}
		if n := utf8.RuneCountInString(res.Text); n > limit {
			t.Errorf("a piece has %d characters", n)
		}
		pieces = append(pieces, res.Text)
		if res.Truncated != (res.NextOffset > 0) {
			t.Errorf("truncated %v, next offset %d", res.Truncated, res.NextOffset)
		}
		if res.NextOffset == 0 {
			break
		}
		if res.NextOffset <= offset {
			t.Fatalf("offset %d leads to %d", offset, res.NextOffset)
		}
		offset = res.NextOffset
	}
	if joined := strings.Join(pieces, ""); joined != whole.Text {
		t.Errorf("%d pieces with %d bytes are not the whole of %d", len(pieces), len(joined), len(whole.Text))
	}
	return testweb.Result{Text: whole.Text, Status: string(whole.Status), HTTPStatus: whole.HTTPStatus, FinalURL: whole.FinalURL}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}
