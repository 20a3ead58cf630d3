package sealtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	cdpt "github.com/chromedp/cdproto/cdp"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass/internal/cdp"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/policy"
)

// urlVectors returns the texts of a corpus of URL vectors: each string in any
// of its files as it stands, as a host, behind user information and at a port;
// and each pair of input and base.
func urlVectors(t *testing.T, dir string) (texts []string, pairs [][2]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files of vectors in %s (%v)", len(files), dir, err)
	}
	seen := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			for _, s := range []string{v, "https://" + v + "/", "http://" + v, "http://x@" + v + "/", "https://" + v + ":8443/a?b#c"} {
				seen[s] = true
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			input, ok := v["input"].(string)
			if base, has := v["base"].(string); ok && has {
				pairs = append(pairs, [2]string{input, base})
			}
			for _, x := range v {
				walk(x)
			}
		}
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		walk(v)
	}
	return slices.Sorted(maps.Keys(seen)), pairs
}

// chromiumURL is what Chromium makes of a URL; nil if none.
type chromiumURL struct{ Protocol, Hostname, Port, Username, Href string }

// inChromium has a real browser parse URLs, in few evaluations. A pair is a
// text and a base, or a text alone.
func inChromium(t *testing.T, pairs [][]string) []*chromiumURL {
	t.Helper()
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	page := make(chan *cdp.Session, 1)
	p, err := chrome.Start(t.Context(), chrome.Options{
		Binary: bin, Proxy: "127.0.0.1:9", ProfileRoot: t.TempDir(),
		OnAttach: func(_, child *cdp.Session, _ *target.EventAttachedToTarget) { page <- child },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	made, err := cdpt.Call(t.Context(), p.Browser, target.CreateTarget, target.CreateTargetParams{URL: "about:blank"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cdpt.Call(t.Context(), p.Browser, target.AttachToTarget, target.AttachToTargetParams{TargetID: made.TargetID, Flatten: new(true)}); err != nil {
		t.Fatal(err)
	}
	s := <-page
	var all []*chromiumURL
	for batch := range slices.Chunk(pairs, 4000) {
		b, err := json.Marshal(batch)
		if err != nil {
			t.Fatal(err)
		}
		res, err := cdpt.Call(t.Context(), s, cdpruntime.Evaluate, cdpruntime.EvaluateParams{ReturnByValue: new(true), Expression: `JSON.stringify(` + string(b) + `.map(a => {
			try {
				const u = new URL(...a);
				return {protocol: u.protocol, hostname: u.hostname, port: u.port, username: u.username, href: u.href};
			} catch { return null }
		}))`})
		if err != nil || res.ExceptionDetails != nil {
			t.Fatalf("evaluate: %v %v", err, res)
		}
		var text string
		var got []*chromiumURL
		if err := cmp.Or(json.Unmarshal(res.Result.Value, &text), json.Unmarshal([]byte(text), &got)); err != nil {
			t.Fatal(err)
		}
		all = append(all, got...)
	}
	return all
}

// TestPolicyAndChromiumAgreeOnURLs: of every vector, the policy and a real
// Chromium see the same scheme, host and port, or the policy refuses it. That
// Chromium is what will open the URL; whatever it takes for a host is what must
// have been judged.
func TestPolicyAndChromiumAgreeOnURLs(t *testing.T) {
	dir := os.Getenv("BELLGLASS_CORPORA")
	if dir == "" {
		t.Skip("BELLGLASS_CORPORA is not set: it names a folder that holds url-vectors, the vectors of the URL Standard and of IDNA as JSON")
	}
	texts, pairs := urlVectors(t, filepath.Join(dir, "url-vectors"))
	ask := make([][]string, 0, len(texts)+len(pairs))
	for _, s := range texts {
		ask = append(ask, []string{s})
	}
	for _, p := range pairs {
		ask = append(ask, p[:])
	}
	got := inChromium(t, ask)
	if len(got) != len(ask) {
		t.Fatalf("%d answers to %d questions", len(got), len(ask))
	}
	accepted, stricter := 0, 0
	for i, c := range got {
		raw := ask[i][0]
		if len(ask[i]) == 2 { // what a link of a page becomes is judged as Chromium writes it
			if c == nil {
				continue
			}
			raw = c.Href
		}
		u, err := policy.ParseURL(raw)
		switch {
		case err == nil && c == nil:
			t.Errorf("%+q: Chromium refuses it, the policy sees host %s", raw, u.Host)
		case err == nil:
			accepted++
			port := strconv.Itoa(int(u.Port))
			if port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
				port = ""
			}
			if c.Protocol != u.Scheme+":" || strings.TrimSuffix(c.Hostname, ".") != u.Host.String() || c.Port != port || c.Username != "" {
				t.Errorf("%+q: Chromium sees %s %s %s, the policy %s %s %s", raw, c.Protocol, c.Hostname, c.Port, u.Scheme, u.Host, port)
			}
			if c.Href != u.String() {
				t.Errorf("%+q: Chromium writes %+q, the policy %+q", raw, c.Href, u)
			}
		case c != nil && (c.Protocol == "http:" || c.Protocol == "https:"):
			stricter++
		}
	}
	t.Logf("%d URLs: %d accepted by both, %d by Chromium alone", len(got), accepted, stricter)
	if len(got) < 10_000 || accepted < 1000 {
		t.Error("so few vectors prove little")
	}
}
