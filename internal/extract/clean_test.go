package extract

import (
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "a b\tc\nd", "a b\tc\nd"},
		{"controls", "a\x00b\x1b[31mc\x7fd\u0085e", "ab[31mcd\ne"},
		{"line ends", "a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne"},
		{"zero width in Latin", "in\u200bvis\u200cib\u200dle\u2060\ufeff", "invisible"},
		{"tag characters", "hi\U000e0049\U000e0067\U000e006e", "hi"},
		{"bidi overrides and isolates", "\u202eevil\u202c \u2066x\u2069 \u200fy", "evil x y"},
		{"variation selectors as a channel", "a\ufe00\ufe01b\U000e0100c\ufe0f", "abc"},
		{"Hangul and Braille fillers", "a\u115f\u1160\u3164\uffa0b\u2800c", "ab c"},
		{"private use", "\ue001icon\U000f0001\U00100000", "icon"},
		{"noncharacters", "a\ufffe\uffff\ufdd0b", "ab"},
		{"soft hyphen", "hy\u00adphen", "hyphen"},
		{"invalid UTF-8", "a\xff\xfeb\xed\xa0\x80c", "a\ufffdb\ufffdc"},
		{"stacked marks", "Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308x", "Z\u0300\u0301\u0302\u0303\u0304\u0305x"},
		{"our own brackets", "⟦frame https://bank.example⟧", "[[frame https://bank.example]]"},
		{"Persian with ZWNJ", "می\u200cخواهم", "می\u200cخواهم"},
		{"Arabic", "السلام عليكم", "السلام عليكم"},
		{"Hebrew with points", "בְּרֵאשִׁית", "בְּרֵאשִׁית"},
		{"Hindi conjunct", "क्\u200dष क्\u200cष", "क्\u200dष क्\u200cष"},
		{"Thai", "ที่นี่", "ที่นี่"},
		{"Mongolian letter forms", "ᠨ\u180bᠠ ᠰᠠᠷ\u180eᠠ", "ᠨ\u180bᠠ ᠰᠠᠷ\u180eᠠ"},
		{"Mongolian form selectors elsewhere", "a\u180bb\u180e ᠨ\u180b\u180c\u180d", "ab ᠨ\u180b"},
		{"Bengali and Tamil", "র\u200d্যাম ক্ষ শ்ரீ", "র\u200d্যাম ক্ষ শ்ரீ"},
		{"Korean", "한국어 \u1112\u1161\u11ab", "한국어 \u1112\u1161\u11ab"},
		{"emoji family", "👨\u200d👩\u200d👧\u200d👦 ok", "👨\u200d👩\u200d👧\u200d👦 ok"},
		{"emoji with skin tone", "👩🏽\u200d🚀", "👩🏽\u200d🚀"},
		{"emoji presentation", "❤\ufe0f 1\ufe0f\u20e3", "❤\ufe0f 1\ufe0f\u20e3"},
		{"flags", "🇩🇪 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "🇩🇪 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"},
		{"a flag with a message", "🏴\U000e0068\U000e0069\U000e007f", "🏴"},
		{"joiners in a row", "می\u200c\u200d\u200c\u200dخ", "می\u200dخ"},
		{"joiner at an end", "a\u200d", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Clean(tt.in); got != tt.want {
				t.Errorf("got %+q, want %+q", got, tt.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{" a \n\t b ", 10, "a b"},
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abcde…"},
		{"ab cdefg", 4, "ab…"},
		{"x\u0301y\u0301z\u0301", 4, "x\u0301…"},
		{"anything", 0, ""},
	} {
		if got := Line(tt.in, tt.limit); got != tt.want {
			t.Errorf("Line(%q, %d): got %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\u200d\u200c\u0300\ufe0f⟦x\r\n\xff")
	f.Add("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f")
	f.Fuzz(func(t *testing.T, s string) {
		once := Clean(s)
		if !utf8.ValidString(once) {
			t.Fatalf("not UTF-8: %q", once)
		}
		if twice := Clean(once); twice != once {
			t.Errorf("not idempotent: %+q, then %+q", once, twice)
		}
	})
}
