package testweb

import (
	"compress/gzip"
	"compress/zlib"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func newSite(t *testing.T) (*Web, *http.Client) {
	t.Helper()
	w := New(t)
	w.Handle("shop.test", Site())
	w.Handle("other.test", Site())
	return w, client(t, w)
}

func TestEveryListedPageIsServed(t *testing.T) {
	w, c := newSite(t)
	for _, p := range Pages("http://other.test") {
		res, body := get(t, c, "http://shop.test"+p.Path)
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: status %d, type %s", p.Path, res.StatusCode, res.Header.Get("Content-Type"))
		}
		if strings.Contains(body, "ZgotmplZ") || !strings.Contains(body, p.Early) {
			t.Errorf("%s: body %q lacks %q, or a parameter was refused", p.Path, body, p.Early)
		}
	}
	if _, body := get(t, c, "http://shop.test/frames?src=http://other.test/tiny"); !strings.Contains(body, `src="http://other.test/tiny"`) {
		t.Errorf("the cross-origin frame is not in %q", body)
	}
	if n := len(w.Hits("shop.test")); n < len(Pages("")) {
		t.Errorf("%d hits", n)
	}
}

func TestEveryTemplateAndScriptIsServed(t *testing.T) {
	_, c := newSite(t)
	files, err := siteFS.ReadDir("site")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		res, body := get(t, c, "http://shop.test/"+strings.TrimSuffix(f.Name(), ".html"))
		if res.StatusCode != 200 || body == "" {
			t.Errorf("%s: status %d, body %q", f.Name(), res.StatusCode, body)
		}
	}
	if res, _ := get(t, c, "http://shop.test/nothing"); res.StatusCode != 404 {
		t.Errorf("an unknown page has status %d", res.StatusCode)
	}
}

func TestEndpoints(t *testing.T) {
	_, c := newSite(t)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, tc := range []struct {
		path, header, want, body string
		status                   int
	}{
		{path: "/status?code=404", status: 404},
		{path: "/status?code=500&text=sorry", status: 500, body: "<p>sorry"},
		{path: "/status?code=204&text=none", status: 204},
		{path: "/auth", status: 401, header: "Www-Authenticate", want: `Basic realm="members"`, body: "Members only"},
		{path: "/redirect?n=2&to=/late&code=307", status: 307, header: "Location", want: "/redirect?code=307&n=1&to=%2Flate"},
		{path: "/redirect?n=1&to=http://127.0.0.1/", status: 302, header: "Location", want: "http://127.0.0.1/"},
		{path: "/loop?round=3", status: 302, header: "Location", want: "/loop?round=4"},
		{path: "/raw?type=json", status: 200, header: "Content-Type", want: "application/json", body: "9007199254740993"},
		{path: "/raw?type=png", status: 200, header: "Content-Type", want: "image/png"},
		{path: "/raw?type=nothing", status: 404},
		{path: "/charset?name=gbk", status: 200, header: "Content-Type", want: "text/html; charset=gbk", body: "\xd6\xd0"},
		{path: "/charset?name=gbk&by=meta", status: 200, header: "Content-Type", want: "text/html", body: "<meta charset=gbk>"},
		{path: "/charset?name=utf-16le&by=none", status: 200, header: "Content-Type", want: "text/html", body: "\xff\xfe<\x00!\x00"},
		{path: "/download?name=a b.bin&size=3", status: 200, header: "Content-Disposition", want: "attachment; filename*=UTF-8''a%20b.bin", body: "xxx"},
		{path: "/api", status: 200, header: "Content-Type", want: "application/json", body: LateText},
		{path: "/echo?x=1", status: 200, header: "Cache-Control", want: "no-store", body: `"URI": "/echo?x=1"`},
		{path: "/slow?ms=1", status: 200, body: "<p>second half"},
		{path: "/drip?every=1&n=3", status: 200, body: "<p>drop 3"},
		{path: "/cards?n=3&act=1", status: 200, body: "Product number 2"},
		{path: Hostile{Targets: []string{"http://10.0.0.1/"}}.Path(), status: 200, header: "Link", want: "<http://10.0.0.1/>; rel=preload; as=image"},
		{path: Hostile{Targets: []string{"http://10.0.0.1/"}, Only: []string{"img"}}.Path(), status: 200, body: `["http://10.0.0.1/"]`},
	} {
		res, body := get(t, c, "http://shop.test"+strings.ReplaceAll(tc.path, " ", "%20"))
		if res.StatusCode != tc.status || !strings.Contains(body, tc.body) {
			t.Errorf("%s: status %d, body %q", tc.path, res.StatusCode, body)
		}
		if got := res.Header.Get(tc.header); tc.header != "" && got != tc.want {
			t.Errorf("%s: %s = %q, want %q", tc.path, tc.header, got, tc.want)
		}
	}
}

func TestBrokenConnections(t *testing.T) {
	_, c := newSite(t)
	for _, scheme := range []string{"http", "https"} {
		for _, path := range []string{"/reset", "/empty", "/cut"} {
			res, err := c.Get(scheme + "://shop.test" + path)
			if err == nil {
				_, err = io.ReadAll(res.Body)
				res.Body.Close()
			}
			if err == nil {
				t.Errorf("%s%s: no error", scheme, path)
			}
		}
	}
}

func TestContentCodings(t *testing.T) {
	_, c := newSite(t)
	c.Transport.(*http.Transport).DisableCompression = true
	want := string(page("Compressed", "<p>compressed hello"))
	for coding, open := range map[string]func(io.Reader) (io.Reader, error){
		"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	} {
		res, body := get(t, c, "http://shop.test/coded?coding="+coding)
		if res.Header.Get("Content-Encoding") != coding {
			t.Errorf("%s: Content-Encoding %q", coding, res.Header.Get("Content-Encoding"))
		}
		r, err := open(strings.NewReader(body))
		if err != nil {
			t.Fatalf("%s: %v", coding, err)
		}
		if got, err := io.ReadAll(r); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", coding, got, err)
		}
	}
}

// The streams below were decoded by other implementations (zlib of Node.js 20
// for br, the zstd command 1.5): two uncompressed pieces, a run, a short run.
func TestHandMadeStreams(t *testing.T) {
	for coding, want := range map[string]string{
		"br":   "40001068656c6c6f28000820776f726c64faff7f0020de02bf007c4f1f20001021212103",
		"zstd": "28b52ffd003828000068656c6c6f30000020776f726c640200106f0200106f0200106f0200106f0200106f0200106f0200106f0200106f1a000021010000",
	} {
		var b strings.Builder
		e, err := newEncoder(coding, &b)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{write(e, "hello"), write(e, " world"), e.Repeat('o', 1<<20), e.Repeat('!', 3), e.Close()} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := hex.EncodeToString([]byte(b.String())); got != want {
			t.Errorf("%s: %s, want %s", coding, got, want)
		}
	}
}

func write(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}

func TestBombsAreSmall(t *testing.T) {
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		b, err := bomb(coding, 16<<20)
		if err != nil || len(b) > 40_000 {
			t.Errorf("%s: 16 MiB become %d bytes, %v", coding, len(b), err)
		}
	}
}

func TestEncodersReportWriteErrors(t *testing.T) {
	for _, coding := range []string{"br", "zstd"} {
		e, err := newEncoder(coding, failing{})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{write(e, "x"), e.Repeat('o', 1<<20), e.Close()} {
			if !errors.Is(err, iotest.ErrTimeout) {
				t.Errorf("%s: error %v", coding, err)
			}
		}
	}
	if _, err := newEncoder("none", io.Discard); err == nil {
		t.Error("an unknown coding was accepted")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, iotest.ErrTimeout }

func TestEventsArriveOneByOne(t *testing.T) {
	_, c := newSite(t)
	res, err := c.Get("https://shop.test/events?ms=1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	buf := make([]byte, len("data: event 1\n\ndata: event 2\n\n"))
	if _, err := io.ReadFull(res.Body, buf); err != nil || string(buf) != "data: event 1\n\ndata: event 2\n\n" {
		t.Errorf("events %q, %v", buf, err)
	}
}

func TestCardsAreMadeOnce(t *testing.T) {
	_, c := newSite(t)
	start := time.Now()
	_, first := get(t, c, "http://shop.test"+Cards(1000))
	_, second := get(t, c, "http://shop.test"+Cards(1000))
	if first != second || strings.Count(first, "<article") != 1000 {
		t.Errorf("two readings differ, or %d cards", strings.Count(first, "<article"))
	}
	t.Logf("1,000 cards: %d bytes, two readings in %v", len(first), time.Since(start))
}

func TestSocketGreetsTicksAndEchoes(t *testing.T) {
	w, _ := newSite(t)
	for _, size := range []int{4, 200} {
		ws := dialSocket(t, w, "/socket?ms=10000")
		if got := ws.read(t); got != "1:hello" {
			t.Errorf("greeting %q", got)
		}
		text := strings.Repeat("a", size)
		ws.write(opText, text)
		if got, want := ws.read(t), "1:echo "+text; got != want {
			t.Errorf("echo %q, want %q", got, want)
		}
		ws.write(opPing, "p")
		if got := ws.read(t); got != "10:p" {
			t.Errorf("pong %q", got)
		}
		ws.write(opClose, "")
		if got := ws.read(t); got != "8:" {
			t.Errorf("close %q", got)
		}
	}
	ws := dialSocket(t, w, "/socket?ms=1")
	if got := []string{ws.read(t), ws.read(t)}; fmt.Sprint(got) != "[1:hello 1:tick 1]" {
		t.Errorf("messages %q", got)
	}
	ws.c.Write([]byte{0x81, 0x01, 'x'}) // not masked: the server hangs up
	for range 1000 {
		if ws.tryRead() != nil {
			return
		}
	}
	t.Error("the server accepts unmasked frames")
}
