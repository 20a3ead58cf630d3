package content

import (
	"bytes"
	"regexp"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Decode makes text of bytes, by their byte order mark, the declared charset,
// the encoding that an XML declaration names, or because they are UTF-8 or
// wide characters by their look; in that order, as browsers do. What cannot be
// decoded becomes U+FFFD. ok is false if nothing says what the encoding is;
// the text is then that of windows-1252, which decodes anything.
func Decode(body []byte, declared string) (text string, ok bool) {
	var e encoding.Encoding
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return valid(body[3:]), true
	case bytes.HasPrefix(body, []byte{0xff, 0xfe, 0, 0}):
		e = utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)
	case bytes.HasPrefix(body, []byte{0, 0, 0xfe, 0xff}):
		e = utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case bytes.HasPrefix(body, []byte{0xff, 0xfe}):
		e = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(body, []byte{0xfe, 0xff}):
		e = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	default:
		e = wide(body)
	}
	if e == nil {
		e = named(declared)
	}
	if e == nil {
		if m := xmlEncoding.FindSubmatch(body[:min(len(body), 200)]); m != nil {
			e = named(string(m[1]))
		}
	}
	if e == nil || e == unicode.UTF8 || e == encoding.Nop {
		if e != nil || utf8.Valid(body) {
			return valid(body), true
		}
		e, _ = charset.Lookup("windows-1252")
		text, _ := decode(body, e)
		return text, false
	}
	return decode(body, e)
}

func decode(body []byte, e encoding.Encoding) (string, bool) {
	out, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return valid(body), true
	}
	return valid(out), true
}

func valid(b []byte) string { return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))) }

// xmlEncoding is XML 1.0 §2.8 and §4.3.3.
var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']`)

// named returns an encoding by a label of the WHATWG Encoding Standard, or nil.
func named(label string) encoding.Encoding {
	e, name := charset.Lookup(label)
	switch name {
	case "", "replacement":
		return nil
	case "utf-8":
		return unicode.UTF8
	}
	return e
}

// wide recognises UTF-16 and UTF-32 without a byte order mark, by where their
// zeros are: text is largely of characters below 256, or holds line feeds and
// spaces.
func wide(body []byte) encoding.Encoding {
	head := body[:min(len(body), 4096)&^3]
	if len(head) < 16 || bytes.IndexByte(head, 0) < 0 {
		return nil
	}
	var zeros [4]int
	for i, b := range head {
		if b == 0 {
			zeros[i%4]++
		}
	}
	n := len(head) / 4
	many := func(i int) bool { return zeros[i]*20 > n } // one in twenty: the spaces
	all := func(i int) bool { return zeros[i] == n }
	none := func(i int) bool { return zeros[i]*50 < n }
	switch {
	case all(3) && many(2) && none(0):
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case all(0) && many(1) && none(3):
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case many(1) && many(3) && none(0) && none(2):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case many(0) && many(2) && none(1) && none(3):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}
