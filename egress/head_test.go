package egress

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func parse(s string) (*head, string, error) {
	br := bufio.NewReaderSize(strings.NewReader(s), maxHeadSize)
	h, err := readHead(br)
	rest, _ := io.ReadAll(br)
	return h, string(rest), err
}

func TestReadHead(t *testing.T) {
	h, rest, err := parse("POST http://a.test/x HTTP/1.1\r\nHost: a.test\r\nX-Empty:\r\nX-Two: \t a  b \t\r\nContent-Length: 3\r\n\r\nabcGET")
	if err != nil {
		t.Fatal(err)
	}
	want := &head{
		method: "POST", target: "http://a.test/x", host: "a.test", length: 3,
		fields: []field{{"Host", "a.test"}, {"X-Empty", ""}, {"X-Two", "a  b"}, {"Content-Length", "3"}},
	}
	if diff := cmp.Diff(want, h, cmp.AllowUnexported(head{}, field{})); diff != "" || rest != "abcGET" {
		t.Errorf("rest %q, head (-want +got):\n%s", rest, diff)
	}
}

// TestOtherProtocolsAreRecognisedByTheirFirstLine: nothing waits for more.
func TestOtherProtocolsAreRecognisedByTheirFirstLine(t *testing.T) {
	for _, s := range []string{"SSH-2.0-x\r\n", "EHLO a\r\n", "GET /\r\n", "\r\n", "\n", "GET / HTTP/1.1\n"} {
		pr, pw := io.Pipe()
		go io.WriteString(pw, s)
		if _, err := readHead(bufio.NewReaderSize(pr, maxHeadSize)); !isBadHead(err) {
			t.Errorf("%q: got %v", s, err)
		}
		pr.Close()
	}
}

func TestHeadOfExactlyTheLimit(t *testing.T) {
	const frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n"
	for extra, ok := range map[int]bool{0: true, 1: false} {
		s := strings.Replace(frame, "X: ", "X: "+strings.Repeat("x", maxHeadSize-len(frame)+extra), 1)
		if _, rest, err := parse(s + "next"); (err == nil) != ok || ok && rest != "next" {
			t.Errorf("head of %d bytes: %v", len(s), err)
		}
	}
}

func TestListFields(t *testing.T) {
	h, _, err := parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive ,\tX-Hop\r\nconnection: CLOSE\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]bool{"keep-alive": true, "x-hop": true, "close": true, "hop": false, "": false} {
		if got := h.has("connection", token); got != want {
			t.Errorf("%q: got %v, want %v", token, got, want)
		}
	}
}

func FuzzReadHead(f *testing.F) {
	for _, s := range []string{
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\nProxy-Connection: keep-alive\r\n\r\n\x16\x03\x01",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\nHost: a\n\n",
		"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
		"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: a, content-length\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := parse(string(b))
		// The verdict must not depend on how the bytes arrive.
		br := bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(b)), maxHeadSize)
		h1, err1 := readHead(br)
		if (err == nil) != (err1 == nil) || isBadHead(err) != isBadHead(err1) {
			t.Fatalf("at once: %v; byte by byte: %v", err, err1)
		}
		if err != nil {
			return
		}
		opts := cmp.Options{cmp.AllowUnexported(head{}, field{}), cmpopts.EquateEmpty()}
		if diff := cmp.Diff(h, h1, opts); diff != "" {
			t.Fatalf("byte by byte (-want +got):\n%s", diff)
		}
		// What is written anew reads the same, here and in the standard
		// library, and holds nothing that was not read.
		again := appendHead(nil, h.method, h.target, h.fields)
		h2, rest2, err := parse(string(again) + rest)
		if err != nil || rest2 != rest {
			t.Fatalf("written anew: %v, rest %q", err, rest2)
		}
		if diff := cmp.Diff(h, h2, opts); diff != "" {
			t.Fatalf("written anew (-want +got):\n%s", diff)
		}
		if strings.HasPrefix(h.target, "http://") {
			r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(again)))
			if err == nil && r.ContentLength != h.length && !h.chunked && h.length >= 0 {
				t.Errorf("length %d, net/http reads %d", h.length, r.ContentLength)
			}
		}
	})
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"http://a.test/", "HTTP://A.test:80?x", "http://[::1%25a]/", "http://a@b/", "https://a/", "a.test:443", "[::1]:443",
		"http://0x7f.1/", "http://a.test:080/", "http://a.test/#f", "http:///a", "http://a\\b/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if h, port, err := parseAuthority(s, 0); err == nil {
			hp := hostPort{h, port}
			if again, p, err := parseAuthority(hp.String(), 0); err != nil || again != h || p != port {
				t.Errorf("%q reads as %s, and that as %v:%d, %v", s, hp, again, p, err)
			}
			if strings.ContainsAny(s, "/@?#%\\ ") {
				t.Errorf("%q accepted as an authority", s)
			}
		}
		a, err := parseAbsolute(s)
		if err != nil {
			return
		}
		if !strings.HasPrefix(a.origin, "/") || strings.Contains(a.origin, "#") {
			t.Errorf("%q: origin form %q", s, a.origin)
		}
		u := "http://" + hostPort{a.host, a.port}.String() + a.origin
		if again, err := parseAbsolute(u); err != nil || again != a {
			t.Errorf("%q: canonical %q reads as %+v, %v", s, u, again, err)
		}
	})
}
