package browsertest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bellglass/bellglass"
)

func readSeeker(s string) io.ReadSeeker { return strings.NewReader(s) }

// TestTypesThatAreText: what a browser would show in a viewer of its own, or
// save, is read.
func TestTypesThatAreText(t *testing.T) {
	for _, k := range []struct{ name, typ, body, want string }{
		{"text", "text/plain", "one\ttwo\n<b>three</b>\n", "one\ttwo\n<b>three</b>\n"},
		{"csv", "text/csv; charset=utf-8; header=present", "name,price\ntea,3\n", "name,price\ntea,3\n"},
		{"tsv", "text/tab-separated-values", "name\tprice\n", "name\tprice\n"},
		{"ndjson", "application/x-ndjson", "{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}\n"},
		{"calendar", "text/calendar", "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n", "BEGIN:VCALENDAR\nEND:VCALENDAR\n"},
		{"markdown", "text/markdown", "# Title\n\n* x\n", "# Title\n\n* x\n"},
		{"json", "application/json", `{"a": [1, 2], "b": "` + strings.Repeat("x", 120) + `"}`, "{\n \"a\": [1,2],\n \"b\": \"" + strings.Repeat("x", 120) + "\"\n}"},
		{"ld", "application/ld+json", `{"@id":"x"}`, `{"@id":"x"}`},
		{"yaml", "application/yaml", "a: 1\n", "a: 1\n"},
		{"script", "text/javascript", "alert(1)\n", "alert(1)\n"},
		{"xml", "application/xml", "<a><!-- no --><b>x</b></a>", "<a>\n <b>x</b>\n</a>"},
		{"rss", "application/rss+xml", "<rss><channel><title>T</title><item><title>I</title><link>https://i.example/</link></item></channel></rss>",
			"# T\n\n## I\nhttps://i.example/"},
		{"xslt", "text/xml", `<?xml-stylesheet type="text/xsl" href="/x.xsl"?><a>words</a>`, "<?xml-stylesheet type=\"text/xsl\" href=\"/x.xsl\"?>\n<a>words</a>"},
		{"xhtml", "application/xml", `<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Head</h1><p style="display:none">no</p></body></html>`, "# Head"},
		{"svg", "text/xml", `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="50"><text x="5" y="20">drawn</text></svg>`, "drawn"},
		{"invisible", "text/plain; charset=utf-8", "a\u202eb\U000e0041c", "abc"},
		{"bom", "text/plain", "\xef\xbb\xbfx", "x"},
		{"koi8", "text/plain; charset=koi8-r", "\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"},
		{"utf16", "text/csv; charset=utf-16le", "a\x00,\x00b\x00", "a,b"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			res := browse(t, bg, bellglass.Request{URL: serve(k.name+".text.test", k.typ, k.body)})
			if res.Status != bellglass.StatusOK || res.Text != k.want {
				t.Errorf("got %s %s %v %q, want %q", res.Status, res.Reason, res.Err, res.Text, k.want)
			}
			if typ, _, _ := strings.Cut(k.typ, ";"); res.ContentType != typ || res.HTTPStatus != 200 {
				t.Errorf("got %d %s", res.HTTPStatus, res.ContentType)
			}
			if n := len(web.Hits(k.name + ".text.test")); n > 2 { // an icon at most
				t.Errorf("%d requests", n)
			}
		})
	}
}

// minimalPDF is one page that says what, and something in white.
func minimalPDF(what string) string {
	contents := "BT /F 12 Tf 72 700 Td (" + what + ") Tj ET 1 g BT /F 12 Tf 72 600 Td (secret) Tj ET"
	var b strings.Builder
	b.WriteString("%PDF-1.4\n")
	at := []int{}
	for i, o := range []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(contents), contents),
	} {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 5\n0000000000 65535 f \n")
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size 5 /Root 1 0 R /Info << /Title (The\\nreport) >> >>\nstartxref\n%d\n%%%%EOF\n", xref)
	return b.String()
}

// TestPDF is read page by page; a malformed one is an error.
func TestPDF(t *testing.T) {
	for _, typ := range []string{"application/pdf", "application/octet-stream"} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			res := browse(t, bg, bellglass.Request{URL: serve(strings.ReplaceAll(typ, "/", "-")+".pdf.test", typ, minimalPDF("Hello PDF"))})
			if res.Status != bellglass.StatusOK || res.Text != "⟦page 1⟧\nHello PDF" || res.Title != "The report" || res.HiddenChars != 6 || res.Rendered {
				t.Errorf("got %s %s %v %q %q, %d hidden", res.Status, res.Reason, res.Err, res.Title, res.Text, res.HiddenChars)
			}
		})
	}
	for name, body := range map[string]string{"broken": minimalPDF("x")[:400], "none": "no PDF at all", "wordless": minimalPDF("")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := browse(t, bg, bellglass.Request{URL: serve(name+".pdf.test", "application/pdf", body)})
			if res.Reason != bellglass.ReasonContent || res.ContentType != "application/pdf" || res.Size != int64(len(body)) || res.Text != "" {
				t.Errorf("got %s %s %v %q", res.Status, res.Reason, res.Err, res.Text)
			}
		})
	}
}

// TestStyledXMLIsRendered: what its style sheet hides is not read.
func TestStyledXMLIsRendered(t *testing.T) {
	t.Parallel()
	web.Handle("styled.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/x.css" {
			w.Header().Set("Content-Type", "text/css")
			fmt.Fprint(w, "a,b{display:block} c{display:none}")
			return
		}
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprint(w, `<?xml version="1.0"?><?xml-stylesheet type="text/css" href="/x.css"?><a><b>seen words</b><c>secret words</c></a>`)
	}))
	res := browse(t, bg, bellglass.Request{URL: "https://styled.test/"})
	if res.Text != "seen words" || res.HiddenBlocks != 1 {
		t.Errorf("got %s %s %q, %d hidden", res.Status, res.Reason, res.Text, res.HiddenBlocks)
	}
}

// TestWhatIsNoText: its type and size are told, and nothing of its contents.
func TestWhatIsNoText(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 92)
	for _, k := range []struct {
		name, typ, body string
		headers         []string
		status          bellglass.Status
		reason          bellglass.Reason
		file            string
		size            int64
	}{
		{"png", "image/png", png, nil, bellglass.StatusError, bellglass.ReasonContent, "", 100},
		{"zip", "application/zip", "PK\x03\x04", nil, bellglass.StatusError, bellglass.ReasonContent, "", 4},
		{"stream", "application/octet-stream", "\x00\x01", nil, bellglass.StatusError, bellglass.ReasonContent, "", 2},
		{"video", "video/mp4", "\x00\x01\x02", nil, bellglass.StatusError, bellglass.ReasonContent, "", 3},
		{"fake", "text/plain", "\x00\x01\x02\x03", nil, bellglass.StatusError, bellglass.ReasonContent, "", 4},
		{"saved", "text/csv", "a,b\n", []string{"Content-Disposition", `attachment; filename="../price list.csv"`},
			bellglass.StatusRejected, bellglass.ReasonDownload, "price list.csv", 4},
		{"star", "text/html", "<p>x", []string{"Content-Disposition", `attachment; filename*=UTF-8''na%C3%AFve.html`},
			bellglass.StatusRejected, bellglass.ReasonDownload, "naïve.html", 4},
		{"unnamed", "application/pdf", "%PDF-1.4", []string{"Content-Disposition", "ATTACHMENT"},
			bellglass.StatusRejected, bellglass.ReasonDownload, "", 8},
		{"evil", "text/plain", "x", []string{"Content-Disposition", "attachment; filename=\"a\u202etxt.exe\""},
			bellglass.StatusRejected, bellglass.ReasonDownload, "", 1},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for _, scheme := range []string{"https", "http"} {
				url := strings.Replace(serve(k.name+".file.test", k.typ, k.body, k.headers...), "https", scheme, 1)
				res := browse(t, bg, bellglass.Request{URL: url})
				if res.Status != k.status || res.Reason != k.reason || res.Text != "" {
					t.Errorf("got %s %s %v %q", res.Status, res.Reason, res.Err, res.Text)
				}
				if res.Size != k.size || res.ContentType != k.typ || res.HTTPStatus != 200 || k.file != "" && res.FileName != k.file {
					t.Errorf("got %d %s %q, %d bytes", res.HTTPStatus, res.ContentType, res.FileName, res.Size)
				}
				if strings.ContainsAny(res.FileName, "\u202e/\n") {
					t.Errorf("a file name of %q", res.FileName)
				}
			}
		})
	}
}

// TestEmptyAnswers: never the browser's own page.
func TestEmptyAnswers(t *testing.T) {
	web.Handle("empty.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/"+r.URL.Query().Get("type"))
		var status int
		fmt.Sscan(r.URL.Query().Get("status"), &status)
		w.WriteHeader(status)
	}))
	for _, status := range []int{200, 204, 205, 404, 500, 503} {
		for _, typ := range []string{"html", "plain", "csv"} {
			t.Run(fmt.Sprint(status, typ), func(t *testing.T) {
				t.Parallel()
				res := browse(t, bg, bellglass.Request{URL: fmt.Sprintf("https://empty.test/?status=%d&type=%s", status, typ)})
				if res.Status != bellglass.StatusError || res.Reason != bellglass.ReasonEmpty || res.HTTPStatus != status || res.Text != "" {
					t.Errorf("got %s %s %d %v %q", res.Status, res.Reason, res.HTTPStatus, res.Err, res.Text)
				}
			})
		}
	}
}

// TestErrorsWithTextAreRead, of any type.
func TestErrorsWithTextAreRead(t *testing.T) {
	t.Parallel()
	web.Handle("sorry.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"title":"No such thing"}`)
	}))
	res := browse(t, bg, bellglass.Request{URL: "https://sorry.test/"})
	if res.Status != bellglass.StatusOK || res.HTTPStatus != 404 || res.Text != `{"title":"No such thing"}` || res.Rendered {
		t.Errorf("got %s %s %d %q", res.Status, res.Reason, res.HTTPStatus, res.Text)
	}
}

// TestLongTextIsPaged: nine megabytes are no page that is too large.
func TestLongTextIsPaged(t *testing.T) {
	t.Parallel()
	for typ, size := range map[string]int{"text/plain": 9 << 20, "text/csv": 1 << 20} {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, "line %d of many lines\n", i)
		}
		b.WriteString("the needle\n")
		url := serve("long"+strings.ReplaceAll(typ, "/", "-")+".test", typ, b.String())
		res := browse(t, bg, bellglass.Request{URL: url})
		if res.Status != bellglass.StatusOK || res.TotalChars != b.Len() || !res.Truncated || res.NextOffset < 10_000 {
			t.Errorf("%s: got %s %s %v, %d of %d characters, next %d", typ, res.Status, res.Reason, res.Err, len(res.Text), res.TotalChars, res.NextOffset)
		}
		res = browse(t, bg, bellglass.Request{URL: url, Query: "needle"})
		if !strings.Contains(res.Text, "the needle") {
			t.Errorf("%s: got %s %s %q", typ, res.Status, res.Reason, clip(res.Text, 300))
		}
	}
}

// TestTooLongTextIsRefused, also when it was compressed.
func TestTooLongTextIsRefused(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(bytes.Repeat([]byte("a "), 8<<20))
	z.Close()
	o := options()
	o.MaxPageBytes = 4 << 20
	narrow, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer narrow.Close()
	res := browse(t, narrow, bellglass.Request{URL: serve("bomb.test", "text/csv", b.String(), "Content-Encoding", "gzip")})
	if res.Reason != bellglass.ReasonTooLarge {
		t.Errorf("got %s %s %v", res.Status, res.Reason, res.Err)
	}
	var small bytes.Buffer
	z = gzip.NewWriter(&small)
	z.Write([]byte("a,b\n"))
	z.Close()
	res = browse(t, bg, bellglass.Request{URL: serve("zipped.test", "text/csv", small.String(), "Content-Encoding", "gzip")})
	if res.Text != "a,b\n" {
		t.Errorf("got %s %s %v %q", res.Status, res.Reason, res.Err, res.Text)
	}
}

// TestTextThatNeverEnds is read as far as it came.
func TestTextThatNeverEnds(t *testing.T) {
	t.Parallel()
	o := options()
	o.CallTimeout, o.NavigationTimeout = 20*time.Second, 2*time.Second
	b, err := bellglass.New(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	web.Handle("endless.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		for i := 0; r.Context().Err() == nil; i++ {
			fmt.Fprintf(w, "%d\n", i)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(100 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
	}))
	res := browse(t, b, bellglass.Request{URL: "https://endless.test/"})
	if res.Status != bellglass.StatusTimeout || res.Reason != bellglass.ReasonNavigationTimeout || !strings.HasPrefix(res.Text, "0\n1\n") {
		t.Errorf("got %s %s %v %q", res.Status, res.Reason, res.Err, clip(res.Text, 100))
	}
}

// TestBrokenText is told as a part.
func TestBrokenText(t *testing.T) {
	t.Parallel()
	web.Handle("broken.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		w.Header().Set("Content-Length", "10000")
		fmt.Fprint(w, "the first part\n")
		w.(http.Flusher).Flush()
		time.Sleep(300 * time.Millisecond) // until it has arrived
		panic(http.ErrAbortHandler)
	}))
	res := browse(t, bg, bellglass.Request{URL: "https://broken.test/"})
	if res.Status != bellglass.StatusOK || !res.Truncated || res.NextOffset != 0 || res.Text != "the first part\n" {
		t.Errorf("got %s %s %v truncated %v %q", res.Status, res.Reason, res.Err, res.Truncated, res.Text)
	}
}

// TestRedirectsToText are followed and told.
func TestRedirectsToText(t *testing.T) {
	t.Parallel()
	to := serve("there.test", "text/csv", "a,b\n")
	web.Handle("here.test", http.RedirectHandler(to, http.StatusFound))
	res := browse(t, bg, bellglass.Request{URL: "https://here.test/"})
	if res.Text != "a,b\n" || res.FinalURL != to {
		t.Errorf("got %s %s %s %q", res.Status, res.Reason, res.FinalURL, res.Text)
	}
}

// TestFeedsHaveLinks for list_links.
func TestFeedsHaveLinks(t *testing.T) {
	t.Parallel()
	url := serve("feed.test", "application/atom+xml", `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><title>One</title><link href="https://a.example/1"/></entry></feed>`)
	res, err := bg.Links(t.Context(), bellglass.Request{Principal: who, URL: url})
	if err != nil || len(res.Links) != 1 || res.Links[0] != (bellglass.Link{Text: "One", URL: "https://a.example/1"}) || res.Title != "T" {
		t.Errorf("got %v %s %s %v", err, res.Status, res.Reason, res.Links)
	}
}

// TestEncodings serves real texts in more than forty encodings without saying
// which. Each must come out as something a person reads.
func TestEncodings(t *testing.T) {
	root := os.Getenv("BELLGLASS_CORPORA")
	files, _ := filepath.Glob(filepath.Join(root, "encodings", "*", "*"))
	if root == "" || len(files) == 0 {
		t.Skip("BELLGLASS_CORPORA names no folder with encodings")
	}
	for i, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		typ := "text/plain"
		if strings.Contains(f, "plane1-utf") { // as HTML, browsers do not recognise these either
			f += ".txt"
		}
		switch filepath.Ext(f) {
		case ".xml":
			typ = "text/xml"
		case ".html":
			typ = "text/html"
		}
		t.Run(filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			res := browse(t, bg, bellglass.Request{URL: serve(fmt.Sprintf("e%d.test", i), typ, string(body))})
			bad := strings.Count(res.Text, "\uFFFD")
			if res.Status != bellglass.StatusOK || !utf8.ValidString(res.Text) || bad*50 > utf8.RuneCountInString(res.Text) {
				t.Errorf("got %s %s %v, %d bad characters: %q", res.Status, res.Reason, res.Err, bad, clip(res.Text, 100))
			}
			t.Logf("%q", clip(strings.Join(strings.Fields(res.Text), " "), 150))
		})
	}
}
