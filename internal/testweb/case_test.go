package testweb

import (
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// writeCase makes the folder of a case named c1.
func writeCase(t *testing.T, json string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "c1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files["case.json"] = json
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loadCase(t *testing.T, json string, files map[string]string) *Case {
	t.Helper()
	c, err := LoadCase(writeCase(t, json, files))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEveryPublishedCaseDecodes reads the collection that BELLGLASS_CASES
// names, or the one of the repository.
func TestEveryPublishedCaseDecodes(t *testing.T) {
	root := os.Getenv("BELLGLASS_CASES")
	if root == "" {
		root = "../../testdata/cases/pages"
	}
	cases, err := LoadCases(root)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d cases", len(cases))
	w := New(t)
	c := client(t, w)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, tc := range cases {
		w.Handle(tc.ID+".test", tc.Handler())
		for _, s := range tc.Steps {
			if s.Path == nil || tc.slow(*s.Path) {
				continue
			}
			res, err := c.Get(s.Address("http://"+tc.ID+".test", "127.0.0.1:9"))
			if err != nil {
				t.Errorf("%s: %v: %v", tc.ID, s, err)
				continue
			}
			res.Body.Close()
			if want := tc.status(*s.Path); res.StatusCode != want {
				t.Errorf("%s: %v: status %d, want %d", tc.ID, s, res.StatusCode, want)
			}
		}
		tc.Check(make([]Result, len(tc.Steps))) // whatever it says, it does not panic
	}
}

func (c *Case) route(path string) Route {
	name, _, _ := strings.Cut(path, "?")
	for _, r := range c.Server.Routes {
		if r.Path == name {
			return r
		}
	}
	return Route{}
}

func (c *Case) slow(path string) bool {
	r := c.route(path)
	return r.HangMS > 0 || r.Drip != nil || r.Repeat != nil
}

func (c *Case) status(path string) int {
	if s := c.route(path).Status; s != 0 {
		return s
	}
	return 200
}

func TestCasesAreReadStrictly(t *testing.T) {
	const step = `"steps": [{"call": "browse_page", "path": ""}]`
	for name, tc := range map[string]struct{ json, want string }{
		"unknown key":         {`{"id": "c1", "stepps": []}`, "stepps"},
		"unknown expectation": {`{"id": "c1", ` + step + `, "expect": {"text_hass": []}}`, "text_hass"},
		"unknown route key":   {`{"id": "c1", ` + step + `, "server": {"routes": [{"path": "a", "delay": 1}]}}`, "delay"},
		"another id":          {`{"id": "c2", ` + step + `}`, "c2"},
		"no steps":            {`{"id": "c1", "steps": []}`, "no steps"},
		"unknown call":        {`{"id": "c1", "steps": [{"call": "browse"}]}`, "browse"},
		"path and url":        {`{"id": "c1", "steps": [{"call": "browse_page", "path": "", "url": "http://x/"}]}`, "both"},
		"two bodies":          {`{"id": "c1", ` + step + `, "server": {"routes": [{"path": "a", "body": "x", "body_b64": "eA=="}]}}`, "more than one body"},
		"bad base64":          {`{"id": "c1", ` + step + `, "server": {"routes": [{"path": "a", "body_b64": "!"}]}}`, "base64"},
		"file outside":        {`{"id": "c1", ` + step + `, "server": {"routes": [{"path": "a", "body_file": "../x"}]}}`, "invalid"},
		"unknown encoding":    {`{"id": "c1", ` + step + `, "server": {"routes": [{"path": "a", "encode": "lzma"}]}}`, "lzma"},
		"rooted path":         {`{"id": "c1", ` + step + `, "server": {"routes": [{"path": "/a"}]}}`, "relative"},
		"drip without pause":  {`{"id": "c1", ` + step + `, "server": {"routes": [{"path": "a", "drip": {"chunk": "x"}}]}}`, "every_ms"},
		"results to spare":    {`{"id": "c1", ` + step + `, "expect": {"results": [{}, {}]}}`, "2 results"},
		"no pair":             {`{"id": "c1", ` + step + `, "expect": {"page_js": [["a"]]}}`, "no pair"},
		"odd expect_error":    {`{"id": "c1", "steps": [{"call": "click", "expect_error": 3}]}`, "neither"},
		"trailing data":       {`{"id": "c1", ` + step + `} {}`, "follows"},
	} {
		if _, err := LoadCase(writeCase(t, tc.json, map[string]string{})); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one about %q", name, err, tc.want)
		}
	}
}

func TestUnionsDecode(t *testing.T) {
	c := loadCase(t, `{"id": "c1", "steps": [
		{"call": "click", "index": 0, "expect_error": true},
		{"call": "click", "index": null, "expect_error": "stale"},
		{"call": "click", "index": "0x0"},
		{"call": "extract", "mode": "text"},
		{"wait_ms": 5}
	], "expect": {"page_js": [["1+1", 2], ["a", true], ["b", "c"]]}}`, map[string]string{})
	var got []string
	for _, s := range c.Steps[:3] {
		got = append(got, string(s.Index))
	}
	if diff := cmp.Diff([]string{"0", "null", `"0x0"`}, got); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
	if c.Steps[0].ExpectError != (WantError{Set: true}) || c.Steps[1].ExpectError != (WantError{true, "stale"}) || c.Steps[2].ExpectError.Set {
		t.Errorf("expected errors %v, %v, %v", c.Steps[0].ExpectError, c.Steps[1].ExpectError, c.Steps[2].ExpectError)
	}
	if c.Steps[3].Path != nil || c.Steps[3].Index != nil {
		t.Errorf("absent keys decode as %v, %s", c.Steps[3].Path, c.Steps[3].Index)
	}
	want := []PageCheck{{"1+1", 2.0}, {"a", true}, {"b", "c"}}
	if diff := cmp.Diff(want, c.Expect.PageJS); diff != "" {
		t.Errorf("page_js (-want +got):\n%s", diff)
	}
}

func TestRoutes(t *testing.T) {
	c := loadCase(t, `{"id": "c1", "steps": [{"call": "browse_page", "path": ""}], "server": {"routes": [
		{"path": "e500", "status": 500, "headers": {"content-length": "0"}},
		{"path": "file", "headers": {"content-type": "text/html; charset=gbk"}, "body_file": "gbk.bin"},
		{"path": "b64", "body_b64": "AAEC"},
		{"path": "slow.js", "delay_ms": 5, "hang_ms": 5, "body": "1"},
		{"path": "many", "repeat": {"chunk": "abc", "count": 100000}},
		{"path": "r302", "status": 302, "redirect_query": "c"},
		{"path": "chain", "status": 302, "headers": {"location": "r302"}, "keep_query": true},
		{"path": "sub/page", "body": "below"}
	]}}`, map[string]string{"index.html": "start", "a.js": "1", "gbk.bin": "\xd6\xd0", "odd.xyz": "?"})
	w := New(t)
	w.Handle("case.test", c.Handler())
	hc := client(t, w)
	hc.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, tc := range []struct {
		path, contentType, body, location string
		status                            int
	}{
		{"", "text/html", "start", "", 200},
		{"a.js", "text/javascript", "1", "", 200},
		{"odd.xyz", "application/octet-stream", "?", "", 200},
		{"case.json", "text/plain; charset=utf-8", "no such file\n", "", 404},
		{"../c1/case.json", "text/plain; charset=utf-8", "no such file\n", "", 404},
		{"e500", "", "", "", 500},
		{"file", "text/html; charset=gbk", "\xd6\xd0", "", 200},
		{"b64", "", "\x00\x01\x02", "", 200},
		{"slow.js", "", "1", "", 200},
		{"many", "", strings.Repeat("abc", 100000), "", 200},
		{"r302?c=10.0.0.1:80", "", "", "http://10.0.0.1:80/redirected", 302},
		{"chain?c=x:1&d=2", "", "", "r302?c=x:1&d=2", 302},
		{"sub/page", "", "below", "", 200},
	} {
		res, body := get(t, hc, "http://case.test/"+tc.path)
		if res.StatusCode != tc.status || body != tc.body || res.Header.Get("Content-Type") != tc.contentType || res.Header.Get("Location") != tc.location {
			t.Errorf("/%s: status %d, type %q, location %q, %d bytes", tc.path, res.StatusCode, res.Header.Get("Content-Type"), res.Header.Get("Location"), len(body))
		}
	}
}

func TestRoutesThatMisbehave(t *testing.T) {
	c := loadCase(t, `{"id": "c1", "steps": [{"call": "browse_page", "path": ""}], "server": {"routes": [
		{"path": "drop", "drop": true},
		{"path": "hang", "hang_ms": 3600000},
		{"path": "drip", "drip": {"chunk": "tick", "every_ms": 1}},
		{"path": "bomb", "headers": {"content-encoding": "gzip"}, "encode": "gzip", "repeat": {"chunk": "<p>boom</p>", "count": 100000}},
		{"path": "br", "headers": {"content-encoding": "br"}, "encode": "br", "body": "hi"}
	]}}`, map[string]string{})
	w := New(t)
	w.Handle("case.test", c.Handler())
	hc := client(t, w)
	if _, err := hc.Get("http://case.test/drop"); err == nil {
		t.Error("drop answers")
	}
	hc.Timeout = 50 * time.Millisecond
	if _, err := hc.Get("http://case.test/hang"); err == nil {
		t.Error("hang answers")
	}
	hc.Timeout = 10 * time.Second
	res, err := hc.Get("http://case.test/drip")
	if err != nil {
		t.Fatal(err)
	}
	three := make([]byte, 12)
	if _, err := io.ReadFull(res.Body, three); string(three) != "tickticktick" || err != nil {
		t.Errorf("drip %q, %v", three, err)
	}
	res.Body.Close()

	hc.Transport.(*http.Transport).DisableCompression = true
	_, bomb := get(t, hc, "http://case.test/bomb")
	z, err := gzip.NewReader(strings.NewReader(bomb))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, z); n != 1_100_000 || err != nil || len(bomb) > 20_000 {
		t.Errorf("bomb: %d bytes become %d, %v", len(bomb), n, err)
	}
	if _, br := get(t, hc, "http://case.test/br"); !strings.Contains(br, "hi") || br == "hi" {
		t.Errorf("br: %q", br)
	}
}

func TestStepAddress(t *testing.T) {
	root, probe := "", "?c=PORT&d=CANARY"
	for _, tc := range []struct {
		step Step
		want string
	}{
		{Step{Path: &root}, "http://case.test/"},
		{Step{Path: &probe}, "http://case.test/?c=4567&d=127.0.0.1:4567"},
		{Step{URL: "view-source:http://HOST/"}, "view-source:http://case.test/"},
		{Step{}, ""},
	} {
		if got := tc.step.Address("http://case.test", "127.0.0.1:4567"); got != tc.want {
			t.Errorf("Address of %v = %q, want %q", tc.step, got, tc.want)
		}
	}
}
