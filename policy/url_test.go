package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestParseURLMakesCanonical(t *testing.T) {
	for _, tt := range []struct{ id, raw, href, host string }{
		{"", "https://example.com", "https://example.com/", "example.com"},
		{"", "HTTPS://Example.COM:443/a b?q=ü#f g", "https://example.com/a%20b?q=%C3%BC#f%20g", "example.com"},
		{"", "http://example.com:8080/../a/./b", "http://example.com:8080/a/b", "example.com"},
		{"", "https://münchen.de/", "https://xn--mnchen-3ya.de/", "xn--mnchen-3ya.de"},
		{"", "https://faß.de/", "https://xn--fa-hia.de/", "xn--fa-hia.de"},
		{"", "http://[2606:4700:0::1]/", "http://[2606:4700::1]/", "[2606:4700::1]"},
		{"", "http://[::FFFF:1.2.3.4]/", "http://[::ffff:102:304]/", "[::ffff:102:304]"},
		{"URL-004", "http://evil.test/#@allowed.test/", "http://evil.test/#@allowed.test/", "evil.test"},
		{"URL-005", "http://evil.test/?@allowed.test/", "http://evil.test/?@allowed.test/", "evil.test"},
		{"URL-026", "http://ALLOWED.TEST/", "http://allowed.test/", "allowed.test"},
		{"URL-027", "http://blocked.test./", "http://blocked.test./", "blocked.test"},
		{"URL-029 fullwidth", "http://ａｌｌｏｗｅｄ.test/", "http://allowed.test/", "allowed.test"},
		{"URL-029 circled", "http://ⓐⓛⓛⓞⓦⓔⓓ.test/", "http://allowed.test/", "allowed.test"},
		{"URL-029 mathematical", "http://𝐚𝐥𝐥𝐨𝐰𝐞𝐝.test/", "http://allowed.test/", "allowed.test"},
		{"URL-030", "http://allowed。test/", "http://allowed.test/", "allowed.test"},
		{"URL-031 soft hyphen", "http://allo\u00adwed.test/", "http://allowed.test/", "allowed.test"},
		{"URL-032", "http://ex\u0430mple.test/", "http://xn--exmple-4nf.test/", "xn--exmple-4nf.test"},
		{"IP-001", "http://2130706433/", "http://127.0.0.1/", "127.0.0.1"},
		{"IP-002", "http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1"},
		{"IP-003", "http://0177.0.0.1/", "http://127.0.0.1/", "127.0.0.1"},
		{"IP-004", "http://127.1/", "http://127.0.0.1/", "127.0.0.1"},
		{"IP-004 three parts", "http://127.0.1/", "http://127.0.0.1/", "127.0.0.1"},
		{"IP-006 circled", "http://①②⑦.⓪.⓪.①/", "http://127.0.0.1/", "127.0.0.1"},
		{"IP-006 fullwidth", "http://１２７.0.0.1/", "http://127.0.0.1/", "127.0.0.1"},
		{"IP-007", "http://127.0.0.1./", "http://127.0.0.1/", "127.0.0.1"},
		{"IP-008", "http://2852039166/", "http://169.254.169.254/", "169.254.169.254"},
		{"DNS-011", "http://LOCALHOST./", "http://localhost./", "localhost"},
		{"DNS-040", "http://_x.allowed.test/", "http://_x.allowed.test/", "_x.allowed.test"},
	} {
		u, err := ParseURL(tt.raw)
		if err != nil {
			t.Errorf("%s %q: %v", tt.id, tt.raw, err)
			continue
		}
		if u.String() != tt.href || u.Host.String() != tt.host {
			t.Errorf("%s %q: got %s with host %s, want %s with host %s", tt.id, tt.raw, u, u.Host, tt.href, tt.host)
		}
	}
}

func TestParseURLParts(t *testing.T) {
	u := mustURL(t, "http://[::1]:8080/a%2fb;c?x=1&y#z")
	got := []string{u.Scheme, u.Host.String(), strconv.Itoa(int(u.Port)), u.Path, u.Query, u.HostPort()}
	want := []string{"http", "[::1]", "8080", "/a%2fb;c", "x=1&y", "[::1]:8080"}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %q, want %q", got, want)
	}
	if u := mustURL(t, "https://example.com?q"); u.Port != 443 || u.Path != "/" || u.Query != "q" {
		t.Errorf("got %+v", u)
	}
}

func TestParseURLRefuses(t *testing.T) {
	long := "https://example.com/" + strings.Repeat("é", MaxURLLength-len("https://example.com/"))
	if _, err := ParseURL(long); err != nil {
		t.Errorf("%d characters: %v", MaxURLLength, err)
	}
	for _, tt := range []struct {
		id, raw string
		want    Reason
	}{
		{"empty", "", ReasonInvalidURL},
		{"URL-001", "http://allowed.test@evil.test/", ReasonCredentials},
		{"URL-002", "http://allowed.test:443@evil.test/", ReasonCredentials},
		{"URL-003 colon", "http://allowed.test%3A443@evil.test/", ReasonCredentials},
		{"URL-003 space", "http://allowed.test%20@evil.test/", ReasonCredentials},
		{"userinfo empty", "http://@evil.test/", ReasonCredentials},
		{"RED-013", "http://allowed.test@evil.test", ReasonCredentials},
		{"URL-006", `http://allowed.test\@evil.test/`, ReasonInvalidURL},
		{"URL-006 in the query", `http://allowed.test/?a\b`, ReasonInvalidURL},
		{"URL-007 mixed", `http:/\evil.test/`, ReasonInvalidURL},
		{"URL-007 back", `http:\\evil.test/`, ReasonInvalidURL},
		{"URL-008 one", "http:/evil.test/", ReasonInvalidURL},
		{"URL-008 none", "http:evil.test/", ReasonInvalidURL},
		{"URL-009", "http:///evil.test/", ReasonInvalidURL},
		{"URL-011 space before", " http://allowed.test/", ReasonInvalidURL},
		{"URL-011 space after", "http://allowed.test/ ", ReasonInvalidURL},
		{"URL-011 C0 before", "\x01http://allowed.test/", ReasonInvalidURL},
		{"URL-011 C0 after", "http://allowed.test/\x1f", ReasonInvalidURL},
		{"URL-011 tab inside", "http://allo\twed.test/", ReasonInvalidURL},
		{"URL-011 newline inside", "ht\ntp://allowed.test/", ReasonInvalidURL},
		{"C1", "http://allowed.test/\u0085", ReasonInvalidURL},
		{"DEL", "http://allowed.test/\x7f", ReasonInvalidURL},
		{"not UTF-8", "http://allowed.test/\xff", ReasonInvalidURL},
		{"URL-012", "http://%6c%6f%63%61%6c%68%6f%73%74/", ReasonInvalidURL},
		{"URL-013", "http://evil.test%00.allowed.test/", ReasonInvalidURL},
		{"URL-014", "http://evil.test\x00.allowed.test/", ReasonInvalidURL},
		{"URL-016 zero first", "http://allowed.test:080/", ReasonInvalidURL},
		{"URL-016 plus", "http://allowed.test:+80/", ReasonInvalidURL},
		{"URL-016 too large", "http://allowed.test:65536/", ReasonInvalidURL},
		{"URL-016 very large", "http://allowed.test:18446744073709551697/", ReasonInvalidURL},
		{"URL-016 zero", "http://allowed.test:0/", ReasonInvalidURL},
		{"port empty", "http://allowed.test:/", ReasonInvalidURL},
		{"port twice", "http://allowed.test:80:443/", ReasonInvalidURL},
		{"URL-022 leading dot", "http://.wild.test/", ReasonInvalidURL},
		{"URL-022 two dots", "http://a..wild.test/", ReasonInvalidURL},
		{"URL-031 joiner", "http://allo\u200dwed.test/", ReasonInvalidURL},
		{"URL-033", "//evil.test/x", ReasonInvalidURL},
		{"URL-033 path", "/x", ReasonInvalidURL},
		{"URL-033 name", "evil.test/x", ReasonInvalidURL},
		{"URL-034", long + "x", ReasonURLTooLong},
		{"URL-034 megabytes", "https://example.com/" + strings.Repeat("a", 8<<20), ReasonURLTooLong},
		{"URL-034 data", "data:text/html," + strings.Repeat("a", 1<<20), ReasonURLTooLong},
		{"DNS-041 label", "http://" + strings.Repeat("a", 64) + ".test/", ReasonInvalidURL},
		{"DNS-041 name", "http://" + strings.Repeat("a.", 126) + "test/", ReasonInvalidURL},
		{"IPv4 overflow", "http://4294967296/", ReasonInvalidURL},
		{"IPv4 five parts", "http://1.2.3.4.5/", ReasonInvalidURL},
		{"IPv4 last label", "http://example.0x1/", ReasonInvalidURL},
		{"IPv4 signed", "http://-1/", ReasonInvalidURL},
		{"IPv6 zone", "http://[fe80::1%25eth0]/", ReasonInvalidURL},
		{"IPv6 unclosed", "http://[::1/", ReasonInvalidURL},
		{"IPv6 brackets twice", "http://[[::1]]/", ReasonInvalidURL},
		{"IPv6 text after", "http://[::1]x/", ReasonInvalidURL},
		{"capital sharp s", "http://FAẞ.de/", ReasonInvalidURL},
		{"punycode bad", "http://xn--a.test/", ReasonInvalidURL},
		{"punycode mixed", "http://xn--ü-.test/", ReasonInvalidURL},
		{"punycode mixed fullwidth", "http://ｘｎ－－ü-.test/", ReasonInvalidURL},
		{"punycode mixed dot", "http://a。xn--ü-.test/", ReasonInvalidURL},
		{"SCH-003", "view-source:https://allowed.test/", ReasonScheme},
		{"SCH-004 version", "chrome://version", ReasonScheme},
		{"SCH-004 gpu", "chrome://gpu", ReasonScheme},
		{"SCH-005", "devtools://devtools/bundled/inspector.html", ReasonScheme},
		{"SCH-006", "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html", ReasonScheme},
		{"SCH-008", "data:text/html,<h1>x</h1>", ReasonScheme},
		{"SCH-009", "javascript:document.write(1)", ReasonScheme},
		{"SCH-009 case", "JaVaScRiPt:document.write(1)", ReasonScheme},
		{"SCH-009 space", " JaVaScRiPt:document.write(1)", ReasonInvalidURL},
		{"SCH-009 newline inside", "java\nscript:document.write(1)", ReasonInvalidURL},
		{"SCH-010 blob", "blob:https://allowed.test/6b3f", ReasonScheme},
		{"SCH-010 filesystem", "filesystem:https://allowed.test/temporary/x", ReasonScheme},
		{"SCH-011 version", "about:version", ReasonScheme},
		{"SCH-011 srcdoc", "about:srcdoc", ReasonScheme},
		{"SCH-013 mailto", "mailto:a@allowed.test", ReasonScheme},
		{"SCH-013 tel", "tel:+123", ReasonScheme},
		{"SCH-013 intent", "intent://scan/#Intent;scheme=zxing;end", ReasonScheme},
		{"SCH-013 custom", "ms-word:ofe|u|https://allowed.test/", ReasonScheme},
		{"file", "file:///etc/passwd", ReasonScheme},
		{"ftp", "ftp://allowed.test/", ReasonScheme},
		{"ws", "ws://allowed.test/", ReasonScheme},
	} {
		u, err := ParseURL(tt.raw)
		if got := reason(t, err); got != tt.want {
			t.Errorf("%s %.60q: got %v, %q, want %q", tt.id, tt.raw, u, got, tt.want)
		}
	}
}

// TestURLVectors compares with the WHATWG's own test vectors (urltestdata.json
// of web-platform-tests and files of its shape), which are not part of this
// module.
func TestURLVectors(t *testing.T) {
	dir := os.Getenv("BELLGLASS_URL_VECTORS")
	if dir == "" {
		t.Skip("BELLGLASS_URL_VECTORS does not name a directory with urltestdata.json")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*urltestdata*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors in %s: %v", dir, err)
	}
	accepted := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(data, &rows); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			var v struct {
				Input, Base, Href, Protocol, Hostname, Port string
				Failure                                     bool
			}
			if json.Unmarshal(row, &v) != nil {
				continue // a comment
			}
			u, err := ParseURL(v.Input)
			if err != nil || v.Failure && v.Base != "" { // the base may be what fails
				continue
			}
			accepted++
			port := v.Port
			if port == "" {
				port = map[string]string{"http:": "80", "https:": "443"}[v.Protocol]
			}
			if v.Failure || u.Scheme+":" != v.Protocol || u.Host.String() != strings.TrimSuffix(v.Hostname, ".") ||
				strconv.Itoa(int(u.Port)) != port {
				t.Errorf("%q: got %s, want %s (failure %v)", v.Input, u, v.Href, v.Failure)
			}
		}
	}
	if accepted < 100 {
		t.Errorf("only %d vectors were accepted, which proves little", accepted)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"https://example.com/", "http://user@h/", "http://0x7f.1", "http://[::1%25x]/", "http://a。b", "http://xn--ü-.de",
		"HTTP://①", "javascript:x", "http://h:080", `http://h\@e`, "http://h/\x00", "http://ẞ", "http://1.2.3.4.", "http://-1/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURL(s)
		if err != nil {
			reason(t, err) // fails on any other kind of error
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Port == 0 {
			t.Errorf("%q: accepted as %+v", s, u)
		}
		if (u.Host.Name == "") != u.Host.Addr.IsValid() || u.Host.Addr.Zone() != "" {
			t.Errorf("%q: host %+v is not exactly one of name and address", s, u.Host)
		}
		// What is passed on must mean the same to the next reader.
		again, err := ParseURL(u.String())
		if len(u.String()) <= MaxURLLength && (err != nil || again.Host != u.Host || again.Port != u.Port || again.String() != u.String()) {
			t.Errorf("%q: %s reads as %v, %v", s, u, again, err)
		}
		if h, err := ParseHost(u.Host.String()); err != nil || h != u.Host {
			t.Errorf("%q: the proxy reads host %s as %v, %v", s, u.Host, h, err)
		}
	})
}

func BenchmarkParseURL(b *testing.B) {
	for _, s := range []string{"https://www.example.com/a/b?q=1", "https://www.münchen.de/", "http://127.0.0.1:8080/"} {
		b.Run(s[:strings.LastIndexByte(s, '/')], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseURL(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
