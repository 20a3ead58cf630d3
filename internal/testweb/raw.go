package testweb

import (
	"encoding/base64"
	"html"
	"net/http"
)

func escape(s string) string { return html.EscapeString(s) }

// pixel is a PNG of one pixel.
var pixel = mustBase64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

func mustBase64(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic("testweb: " + err.Error())
	}
	return b
}

// raws are bodies that are not HTML.
var raws = map[string]struct{ contentType, body string }{
	"json": {"application/json", `{"id":9007199254740993,"name":"a number above 2^53","tags":["x","y"]}`},
	"text": {"text/plain; charset=utf-8", "first\tsecond\n<b>not markup</b>\n  indented\n"},
	"csv":  {"text/csv; charset=utf-8", "name,price\nrope,4\n\"lamp, oil\",9\n"},
	"xml":  {"application/xml", `<?xml version="1.0"?><note id="1"><to>the reader</to></note>`},
	"rss":  {"application/rss+xml", `<?xml version="1.0"?><rss version="2.0"><channel><title>Tide times</title><item><title>High water at nine</title></item></channel></rss>`},
	"svg":  {"image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" width="200" height="50"><text x="5" y="30">text in a drawing</text></svg>`},
	"png":  {"image/png", string(pixel)},
	"pdf":  {"application/pdf", "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 0/Kids[]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"},
	"bin":  {"application/octet-stream", "\x00\x01\x02\x03\xff\xfe"},
}

func serveRaw(w http.ResponseWriter, _ *http.Request, p params) {
	t, ok := raws[p.Str("type", "json")]
	if !ok {
		http.Error(w, "no such type", http.StatusNotFound)
		return
	}
	send(w, t.contentType, []byte(t.body))
}

// Charset is a legacy encoding, and one line of text in it.
type Charset struct {
	Name    string // as declared
	Text    string // what must be read
	encoded string
}

// Charsets lists the encodings that /charset serves.
func Charsets() []Charset {
	return []Charset{
		{"shift_jis", "日本語の見出し", "\x93\xfa\x96\x7b\x8c\xea\x82\xcc\x8c\xa9\x8f\x6f\x82\xb5"},
		{"gbk", "中文标题", "\xd6\xd0\xce\xc4\xb1\xea\xcc\xe2"},
		{"windows-1251", "Привет", "\xcf\xf0\xe8\xe2\xe5\xf2"},
		{"iso-8859-2", "Żółta łódź", "\xaf\xf3\xb3ta \xb3\xf3d\xbc"},
		{"euc-kr", "한국어", "\xc7\xd1\xb1\xb9\xbe\xee"},
		{"utf-16le", "plain sixteen", "p\x00l\x00a\x00i\x00n\x00 \x00s\x00i\x00x\x00t\x00e\x00e\x00n\x00"},
	}
}

// serveCharset declares the encoding in the header (default), in a meta
// element, or (for UTF-16) in a byte order mark only.
func serveCharset(w http.ResponseWriter, _ *http.Request, p params) {
	for _, c := range Charsets() {
		if c.Name != p.Str("name", "shift_jis") {
			continue
		}
		contentType, head, body := "text/html; charset="+c.Name, "<!doctype html><title>encoded</title>", c.encoded
		switch p.Str("by", "header") {
		case "meta":
			contentType = "text/html"
			head = "<!doctype html><meta charset=" + c.Name + "><title>encoded</title>"
		case "none":
			contentType = "text/html"
		}
		if c.Name == "utf-16le" {
			head = "\xff\xfe" + widen(head+"<p>")
		} else {
			head += "<p>"
		}
		send(w, contentType, []byte(head+body))
		return
	}
	http.Error(w, "no such charset", http.StatusNotFound)
}

// widen is ASCII text in UTF-16LE.
func widen(ascii string) string {
	b := make([]byte, 0, 2*len(ascii))
	for i := range len(ascii) {
		b = append(b, ascii[i], 0)
	}
	return string(b)
}
