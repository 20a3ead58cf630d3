package plain

import (
	"bytes"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// How much of a body is looked at for a declaration of its encoding (as the
// HTML Standard has it), and to guess one where none is declared.
const (
	declarationBytes = 1024
	guessBytes       = 32 << 10
)

// MediaType is the media type of a response in lower case, without parameters.
// Where none is declared, or one that is no media type, it is worked out from
// the first bytes as browsers do.
func (r *Response) MediaType() string {
	if t := DeclaredType(r.Header); t != "" {
		return t
	}
	t, _, _ := strings.Cut(http.DetectContentType(r.Body), ";")
	return t
}

// DeclaredType is the media type that a header declares, in lower case and
// without parameters, or "".
func DeclaredType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil && t == "" || !strings.Contains(t, "/") {
		return ""
	}
	return t
}

// Encoding is the name of the body's encoding in the Encoding Standard, by its
// byte order mark, by the header or by its own word, or else by its looks.
func (r *Response) Encoding() string {
	_, name := r.encoding()
	return name
}

// utf8 returns the body as UTF-8.
func (r *Response) utf8() []byte {
	e, name := r.encoding()
	if name == "utf-8" && utf8.Valid(r.Body) {
		return bytes.TrimPrefix(r.Body, []byte("\xef\xbb\xbf"))
	}
	out, err := e.NewDecoder().Bytes(r.Body)
	if err != nil {
		out = r.Body
	}
	return bytes.ToValidUTF8(bytes.TrimPrefix(out, []byte("\ufeff")), []byte("\ufffd"))
}

func (r *Response) encoding() (encoding.Encoding, string) {
	head := r.Body[:min(len(r.Body), declarationBytes)]
	e, name, certain := charset.DetermineEncoding(head, r.Header.Get("Content-Type"))
	if certain {
		return e, name
	}
	// A meta element is found although it is not certain; what is left when
	// there is none is a guess by these few bytes, which we do better.
	if word := declared(head); word != "" {
		if e, name := charset.Lookup(word); e != nil {
			if strings.HasPrefix(name, "utf-16") { // it could not have been read (HTML Standard, 13.2.3.2)
				return unicode.UTF8, "utf-8"
			}
			return e, name
		}
	}
	return guess(r.Body)
}

// declarations of an encoding within a document: of HTML, and of XML.
var declarations = regexp.MustCompile(`(?i)<meta[^>]{0,300}?charset\s*=\s*["']?\s*([a-z0-9_:.+-]+)|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-z0-9_:.+-]+)`)

func declared(head []byte) string {
	m := declarations.FindSubmatch(head)
	if m == nil {
		return ""
	}
	return string(m[1]) + string(m[2])
}

// sure is the confidence at which a guess is believed. Below it the text is
// short, or of several alphabets, and windows-1252 is what the web has most.
const sure = .6

// guess works out an encoding from the bytes.
func guess(body []byte) (encoding.Encoding, string) {
	if e, name := wide(body); e != nil {
		return e, name
	}
	sample := body[:min(len(body), guessBytes)]
	if valid(sample) && (len(sample) == len(body) || utf8.Valid(body)) && !chardet.EscDetector(sample) {
		return unicode.UTF8, "utf-8"
	}
	if g := chardet.Detect(sample); g.Confidence >= sure && !strings.HasPrefix(strings.ToLower(g.Encoding), "utf-8") {
		if e, name := charset.Lookup(label(g.Encoding)); e != nil {
			return e, name
		}
	}
	return charset.Lookup("windows-1252")
}

// valid reports that b is UTF-8, apart from a character that is cut off at its
// end.
func valid(b []byte) bool {
	for i := 0; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.Valid(b[:len(b)-i]) {
			return true
		}
	}
	return utf8.Valid(b)
}

// wide recognises UTF-16 without a byte order mark: every other byte of mostly
// Latin text, or of markup, is zero.
func wide(body []byte) (encoding.Encoding, string) {
	b := body[:min(len(body), declarationBytes)]
	if len(b) < 4 {
		return nil, ""
	}
	var zeros [2]int
	for i, c := range b {
		if c == 0 {
			zeros[i%2]++
		}
	}
	half := len(b) / 2
	switch {
	case zeros[1] > half*2/5 && zeros[0] < half/10:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), "utf-16le"
	case zeros[0] > half*2/5 && zeros[1] < half/10:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), "utf-16be"
	}
	return nil, ""
}

// label is the name that the Encoding Standard has for what the detector
// found.
func label(name string) string {
	switch name = strings.ToLower(name); name {
	case "cp949", "johab":
		return "euc-kr"
	case "cp932":
		return "shift_jis"
	case "gb2312":
		return "gb18030"
	case "maccyrillic":
		return "x-mac-cyrillic"
	case "ascii":
		return "windows-1252"
	}
	return name
}
