package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bellglass/bellglass/policy"
)

// connectTo is a CONNECT request.
func connectTo(authority string) string {
	return "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n"
}

// getFrom is a plain http request, with further lines of the head.
func getFrom(url string, lines ...string) string {
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	return "GET " + url + " HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
}

// TestMalformedRequestsReachNothing sends what a browser never sends. The
// target would be allowed; the form is not.
func TestMalformedRequestsReachNothing(t *testing.T) {
	w := newWorld(t, Options{})
	hits := w.count()
	c := allowed()
	c.Allow = []string{".allowed.test"}
	_, e := w.run(c, RunConfig{})
	const ok = "Host: allowed.test\r\n"
	long := strings.Repeat("x", maxHeadSize)
	for _, tt := range []struct {
		id, request string
		status      int
		reason      policy.Reason
	}{
		{"PRX-002", "GET /x HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400, policy.ReasonInvalidURL},
		{"PRX-002 allowed", "GET /x HTTP/1.1\r\n" + ok + "\r\n", 400, policy.ReasonInvalidURL},
		{"asterisk form", "OPTIONS * HTTP/1.1\r\n" + ok + "\r\n", 400, policy.ReasonInvalidURL},
		{"authority form", "GET allowed.test:80 HTTP/1.1\r\n" + ok + "\r\n", 400, policy.ReasonInvalidURL},
		{"PRX-004", "CONNECT http://allowed.test:443/ HTTP/1.1\r\n" + ok + "\r\n", 400, policy.ReasonInvalidURL},
		{"CONNECT path", "CONNECT /x HTTP/1.1\r\n" + ok + "\r\n", 400, policy.ReasonInvalidURL},
		{"CONNECT userinfo", "CONNECT a:443@allowed.test:443 HTTP/1.1\r\n" + ok + "\r\n", 400, policy.ReasonInvalidURL},
		{"CONNECT without port", connectTo("allowed.test"), 400, policy.ReasonInvalidURL},
		{"CONNECT port 0", connectTo("allowed.test:0"), 400, policy.ReasonInvalidURL},
		{"CONNECT port 65536", connectTo("allowed.test:65536"), 400, policy.ReasonInvalidURL},
		{"CONNECT port 0443", connectTo("allowed.test:0443"), 400, policy.ReasonInvalidURL},
		{"CONNECT port +443", connectTo("allowed.test:+443"), 400, policy.ReasonInvalidURL},
		{"CONNECT port https", connectTo("allowed.test:https"), 400, policy.ReasonInvalidURL},
		{"CONNECT body", "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\nContent-Length: 5\r\n\r\nhello", 400, ReasonMalformed},
		{"CONNECT other Host", "CONNECT allowed.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", 400, ReasonMalformed},
		{"CONNECT other port in Host", "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:80\r\n\r\n", 400, ReasonMalformed},
		{"URL-013", connectTo("evil.test%00.allowed.test:443"), 400, policy.ReasonInvalidURL},
		{"URL-014", connectTo("evil.test\x00.allowed.test:443"), 400, ReasonMalformed},
		{"URL-022", connectTo("a..allowed.test:443"), 400, policy.ReasonInvalidURL},
		{"URL-028", getFrom("http://[allowed.test]/"), 400, policy.ReasonInvalidURL},
		{"IP-009", connectTo("0x7f.1:443"), 400, policy.ReasonInvalidURL},
		{"IP-010", connectTo("0177.0.0.1:443"), 400, policy.ReasonInvalidURL},
		{"IP-010 zero", connectTo("127.0.0.01:443"), 400, policy.ReasonInvalidURL},
		{"IP-090", connectTo("[::1%25x.allowed.test]:443"), 400, policy.ReasonInvalidURL},
		{"DNS-041 label", connectTo(strings.Repeat("a", 64) + ".allowed.test:443"), 400, policy.ReasonInvalidURL},
		{"DNS-041 name", connectTo(strings.Repeat("a.", 126) + "allowed.test:443"), 400, policy.ReasonInvalidURL},
		{"PRX-022 file", getFrom("file:///etc/passwd"), 400, ""},
		{"PRX-022 ftp", strings.Replace(getFrom("http://allowed.test/"), "http:", "ftp:", 1), 400, policy.ReasonScheme},
		{"PRX-022 https", strings.Replace(getFrom("http://allowed.test/"), "http:", "https:", 1), 400, policy.ReasonScheme},
		{"userinfo", "GET http://allowed.test@evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400, policy.ReasonCredentials},
		{"fragment", getFrom("http://allowed.test/#x"), 400, policy.ReasonInvalidURL},
		{"PRX-001 allowed, other Host", "GET http://allowed.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400, ReasonMalformed},
		{"PRX-023", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, ReasonMalformed},
		{"PRX-024", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400, ReasonMalformed},
		{"PRX-024 the same twice", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400, ReasonMalformed},
		{"Content-Length list", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Content-Length: 5, 5\r\n\r\nhello", 400, ReasonMalformed},
		{"Content-Length signed", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Content-Length: +5\r\n\r\nhello", 400, ReasonMalformed},
		{"Content-Length hex", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Content-Length: 0x5\r\n\r\nhello", 400, ReasonMalformed},
		{"Content-Length huge", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Content-Length: 9223372036854775808\r\n\r\n", 400, ReasonMalformed},
		{"PRX-025 xchunked", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501, ReasonMalformed},
		{"PRX-025 gzip, chunked", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, ReasonMalformed},
		{"PRX-025 twice", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, ReasonMalformed},
		{"PRX-025 chunked, chunked", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 501, ReasonMalformed},
		{"Connection: Content-Length", "POST http://allowed.test/ HTTP/1.1\r\n" + ok + "Content-Length: 5\r\nConnection: content-length\r\n\r\nhello", 400, ReasonMalformed},
		// Decided: bare line feeds and folded lines are refused, not repaired.
		{"PRX-026", "GET http://allowed.test/ HTTP/1.1\nHost: allowed.test\n\n", 400, ReasonMalformed},
		{"PRX-026 one line", "GET http://allowed.test/ HTTP/1.1\r\n" + ok + "X: 1\nY: 2\r\n\r\n", 400, ReasonMalformed},
		{"PRX-027", "GET http://allowed.test/ HTTP/1.1\r\n" + ok + "X: 1\r\n 2\r\n\r\n", 400, ReasonMalformed},
		{"PRX-028", "GET http://allowed.test/ HTTP/1.1\r\nHost : allowed.test\r\n\r\n", 400, ReasonMalformed},
		{"PRX-029 NUL", "GET http://allowed.test/ HTTP/1.1\r\n" + ok + "X: a\x00b\r\n\r\n", 400, ReasonMalformed},
		{"PRX-029 CR", "GET http://allowed.test/ HTTP/1.1\r\n" + ok + "X: a\rb\r\n\r\n", 400, ReasonMalformed},
		{"PRX-030", "GET http://allowed.test/ HTTP/1.1\r\n" + ok + ok + "\r\n", 400, ReasonMalformed},
		{"no Host", "GET http://allowed.test/ HTTP/1.1\r\n\r\n", 400, ReasonMalformed},
		{"empty name", "GET http://allowed.test/ HTTP/1.1\r\n" + ok + ": x\r\n\r\n", 400, ReasonMalformed},
		{"no colon", "GET http://allowed.test/ HTTP/1.1\r\n" + ok + "X\r\n\r\n", 400, ReasonMalformed},
		{"line before", "\r\n" + getFrom("http://allowed.test/"), 400, ReasonMalformed},
		{"two spaces", "GET  http://allowed.test/ HTTP/1.1\r\n" + ok + "\r\n", 400, ReasonMalformed},
		{"tab", "GET\thttp://allowed.test/ HTTP/1.1\r\n" + ok + "\r\n", 400, ReasonMalformed},
		{"not ASCII", "GET http://allowed.test/\xff HTTP/1.1\r\n" + ok + "\r\n", 400, ReasonMalformed},
		{"HTTP/0.9", "GET http://allowed.test/\r\n\r\n", 400, ReasonMalformed},
		{"HTTP/1.0", "GET http://allowed.test/ HTTP/1.0\r\n" + ok + "\r\n", 505, ReasonMalformed},
		{"CONNECT HTTP/1.0", "CONNECT allowed.test:443 HTTP/1.0\r\nHost: allowed.test:443\r\n\r\n", 505, ReasonMalformed},
		{"http/1.1", "GET http://allowed.test/ http/1.1\r\n" + ok + "\r\n", 400, ReasonMalformed},
		{"PRX-033 h2c", getFrom("http://allowed.test/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), 501, ReasonMalformed},
		{"PRX-033 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, ReasonMalformed},
		{"method TRACE", "TRACE http://allowed.test/ HTTP/1.1\r\n" + ok + "\r\n", 501, ReasonMalformed},
		{"method FOO", "FOO http://allowed.test/ HTTP/1.1\r\n" + ok + "\r\n", 501, ReasonMalformed},
		{"method connect", "connect allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n", 400, policy.ReasonInvalidURL},
		{"method G(T", "G(T http://allowed.test/ HTTP/1.1\r\n" + ok + "\r\n", 400, ReasonMalformed},
		{"PRX-036 request line", "GET http://allowed.test/" + long + " HTTP/1.1\r\n" + ok + "\r\n", 431, ReasonMalformed},
		{"PRX-036 header", getFrom("http://allowed.test/", "X: "+long), 431, ReasonMalformed},
		{"PRX-036 one byte", getFrom("http://allowed.test/", strings.Repeat("X: 1\r\n", 129)+"Y: 2"), 431, ReasonMalformed},
	} {
		resp, body := ask(t, e, tt.request)
		reason := policy.Reason(resp.Header.Get(ReasonHeader))
		if resp.StatusCode != tt.status || reason == "" || tt.reason != "" && reason != tt.reason || !resp.Close || body != "bellglass: "+string(reason)+"\n" {
			t.Errorf("%s: got %s, %q %q, want %d %s", tt.id, resp.Status, reason, body, tt.status, tt.reason)
		}
	}
	if n := hits(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	if got := w.lookups(); len(got) != 0 {
		t.Errorf("looked up %v", got)
	}
	// The control: the same world does answer what is well formed.
	if resp, _ := ask(t, e, getFrom("http://allowed.test/")); resp.StatusCode != 200 || hits() != 1 {
		t.Errorf("control: got %s and %d connections", resp.Status, hits())
	}
}

// count puts a server behind ports 80 and 443 of allowed.test and returns a
// function that tells how many connections it has had.
func (w *world) count() func() int {
	s := w.http(func(http.ResponseWriter, *http.Request) {})
	w.at(addrAllowed, 443, s.Listener.Addr())
	return func() int { return len(w.dials()) }
}

func TestOnlyTheStandardPortsAreOpen(t *testing.T) {
	w := newWorld(t, Options{})
	hits := w.count()
	_, e := w.run(allowed(), RunConfig{})
	for id, port := range map[string]int{
		"PRX-008": 22, "PRX-010": 465, "PRX-011": 587, "PRX-013": 2375, "PRX-014": 3306, "PRX-015": 5432, "PRX-016": 6379,
		"PRX-017": 9200, "PRX-018": 11211, "PRX-019": 3478, "PRX-020": 9000, "WS-003": 80, "RED-021": 8443,
	} {
		resp, _ := ask(t, e, connectTo(fmt.Sprintf("allowed.test:%d", port)))
		if resp.StatusCode != 403 || resp.Header.Get(ReasonHeader) != string(policy.ReasonPort) {
			t.Errorf("%s: CONNECT to port %d: got %s %s", id, port, resp.Status, resp.Header.Get(ReasonHeader))
		}
	}
	refused(t, e, getFrom("http://allowed.test:8080/"), 403, policy.ReasonPort)
	if n := hits(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// TestHostHeaderDecidesNothing: PRX-001. The target is judged.
func TestHostHeaderDecidesNothing(t *testing.T) {
	w := newWorld(t, Options{})
	run, e := w.run(allowed(), RunConfig{})
	refused(t, e, "GET http://evil.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n", 403, policy.ReasonHost)
	refused(t, e, "CONNECT evil.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n", 403, policy.ReasonHost)
	for _, r := range run.Refusals() {
		if r.Host != "evil.test" {
			t.Errorf("refused as %s", r.Host)
		}
	}
}

// TestOriginSeesACleanRequest: PRX-031, PRX-032, CRD-001. Nothing of the proxy
// or about the client's side of it reaches the origin server, and nothing
// steers the proxy.
func TestOriginSeesACleanRequest(t *testing.T) {
	w := newWorld(t, Options{})
	var seen string
	w.tcp(80, func(c net.Conn) {
		br := bufio.NewReader(c)
		var b strings.Builder
		for {
			line, err := br.ReadString('\n')
			b.WriteString(line)
			if err != nil || line == "\r\n" {
				break
			}
		}
		seen = b.String()
		io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	})
	_, e := w.run(allowed(), RunConfig{Tenant: "secret-tenant", ID: "secret-run"})
	ask(t, e, getFrom("http://allowed.test/a?b",
		"Accept: */*",
		"Connection: keep-alive, Authorization, x-hop",
		"Authorization: Basic c2VjcmV0",
		"X-Hop: 1",
		"Keep-Alive: timeout=5",
		"Proxy-Authorization: Basic c2VjcmV0",
		"Proxy-Connection: keep-alive",
		"TE: trailers",
		"Via: 1.1 me",
		"Forwarded: for=10.0.0.1",
		"X-Forwarded-For: 10.0.0.1",
		"X-Upstream-Https-Proxy: http://evil.test:3128",
		"Bellglass-Tenant: b",
		"sec-ch-ua-platform: \"Linux\"",
		"Cookie: ü=1"))
	want := "GET /a?b HTTP/1.1\r\nHost: allowed.test\r\nAccept: */*\r\nsec-ch-ua-platform: \"Linux\"\r\nCookie: ü=1\r\n\r\n"
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("origin saw (-want +got):\n%s", diff)
	}
}

// TestClientSeesACleanResponse: PRX-040, PRX-041. An origin server can forge
// neither a refusal nor a wish for proxy credentials.
func TestClientSeesACleanResponse(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(ReasonHeader, "host_not_allowed")
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		if r.URL.Path == "/407" {
			w.WriteHeader(407)
		}
	})
	_, e := w.run(allowed(), RunConfig{})
	resp, _ := ask(t, e, getFrom("http://allowed.test/"))
	for _, name := range []string{ReasonHeader, "Proxy-Authenticate", "X-Hop"} {
		if v := resp.Header.Get(name); v != "" {
			t.Errorf("%s: %s reached the client", name, v)
		}
	}
	if diff := cmp.Diff([]string{"a=1", "b=2"}, resp.Header.Values("Set-Cookie")); diff != "" {
		t.Errorf("cookies (-want +got):\n%s", diff)
	}
	refused(t, e, getFrom("http://allowed.test/407"), 502, ReasonConnection)
}

// TestPipelinedRequestsAreJudgedAnew: PRX-044, and PRX-023 as far as a body
// could hide a request.
func TestPipelinedRequestsAreJudgedAnew(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	})
	_, e := w.run(allowed(), RunConfig{})
	c := raw(t, e)
	io.WriteString(c, getFrom("http://allowed.test/1")+
		"POST http://allowed.test/2 HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 42\r\n\r\n"+"GET http://evil.test/ HTTP/1.1\r\nHost: e\r\n\r\n"[:42]+
		"POST http://allowed.test/3 HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"+
		getFrom("http://evil.test/4"))
	br := bufio.NewReader(c)
	for i, want := range []string{"GET /1 ", "POST /2 GET http://evil.test/ HTTP/1.1\r\nHost: e\r\n\r\n"[:8+42], "POST /3 abc"} {
		if resp, body := readAnswer(t, br); resp.StatusCode != 200 || body != want {
			t.Errorf("request %d: got %s %q, want %q", i+1, resp.Status, body, want)
		}
	}
	if resp, _ := readAnswer(t, br); resp.StatusCode != 403 {
		t.Errorf("request to evil.test: got %s", resp.Status)
	}
	if _, err := br.ReadByte(); err != io.EOF {
		t.Errorf("after a refusal: got %v, want the connection closed", err)
	}
}

func TestBadChunksAreNotForwarded(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	_, e := w.run(allowed(), RunConfig{})
	const head = "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, body := range map[string]string{
		"bare line feed":           "3\nabc\r\n0\r\n\r\n",
		"size of letters":          "xyz\r\nabc\r\n0\r\n\r\n",
		"size too large":           "fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
		"chunk without end":        "3\r\nabcd\r\n0\r\n\r\n",
		"trailer with line feed":   "0\r\nA: b\n\r\n",
		"trailer without colon":    "0\r\nA\r\n\r\n",
		"trailers larger than 16K": "0\r\n" + strings.Repeat("A: 0123456789\r\n", 2000) + "\r\n",
	} {
		resp, _ := ask(t, e, head+body+getFrom("http://allowed.test/"))
		if resp.StatusCode < 400 || resp.Header.Get(ReasonHeader) != string(ReasonMalformed) || !resp.Close {
			t.Errorf("%s: got %s %s", name, resp.Status, resp.Header.Get(ReasonHeader))
		}
	}
}

// TestReadOnlyRunsDoNotPost: PRX-035. Methods inside TLS cannot be seen.
func TestReadOnlyRunsDoNotPost(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(http.ResponseWriter, *http.Request) {})
	_, e := w.run(allowed(), RunConfig{ReadOnly: true})
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		refused(t, e, strings.Replace(getFrom("http://allowed.test/"), "GET", method, 1), 403, ReasonReadOnly)
	}
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		c := raw(t, e)
		io.WriteString(c, strings.Replace(getFrom("http://allowed.test/"), "GET", method, 1))
		resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
		if err != nil || resp.StatusCode != 200 {
			t.Errorf("%s: got %v, %v", method, resp, err)
		}
	}
}
