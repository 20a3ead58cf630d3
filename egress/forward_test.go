package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPiecesAreSentOnAtOnce: event streams must not wait for more.
func TestPiecesAreSentOnAtOnce(t *testing.T) {
	w := newWorld(t, Options{})
	next := make(chan string)
	w.http(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for s := range next {
			io.WriteString(w, s)
			w.(http.Flusher).Flush()
		}
	})
	_, e := w.run(allowed(), RunConfig{})
	c := raw(t, e)
	io.WriteString(c, getFrom("http://allowed.test/"))
	next <- "data: 1\n\n"
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	body := bufio.NewReader(resp.Body)
	for i := 1; ; i++ {
		if line, err := body.ReadString('\n'); err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("event %d: %q, %v", i, line, err)
		}
		body.ReadString('\n')
		if i == 3 {
			break
		}
		next <- fmt.Sprintf("data: %d\n\n", i+1) // only after the one before has arrived
	}
	close(next)
	if rest, err := io.ReadAll(body); err != nil || len(rest) != 0 {
		t.Errorf("rest %q, %v", rest, err)
	}
}

// TestTruncatedResponsesStayTruncated: what the origin server broke off must
// not look whole.
func TestTruncatedResponsesStayTruncated(t *testing.T) {
	for name, response := range map[string]string{
		"length":  "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
		"chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"chunk":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
	} {
		w := newWorld(t, Options{})
		w.tcp(80, func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, response)
		})
		run, e := w.run(allowed(), RunConfig{})
		c := raw(t, e)
		io.WriteString(c, getFrom("http://allowed.test/"))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); err != io.ErrUnexpectedEOF || string(body) != "hello" {
			t.Errorf("%s: got %q, %v", name, body, err)
		}
		e.Release()
		if o, _ := run.Outcome("allowed.test", 80); o.Reason != ReasonConnection {
			t.Errorf("%s: outcome %+v", name, o)
		}
	}
}

func TestResponsesThatMakeNoSenseAreFailures(t *testing.T) {
	for name, response := range map[string]string{
		"empty":             "",
		"not http":          "SSH-2.0-OpenSSH\r\n\r\n",
		"cut off":           "HTTP/1.1 200 OK\r\nContent-Le",
		"switches":          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"endless 1xx":       strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100),
		"head of a MiB":     "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 1000) + "\r\n",
		"two lengths":       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
		"unreadable length": "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello",
	} {
		w := newWorld(t, Options{})
		w.tcp(80, func(c net.Conn) {
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, response)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
		})
		_, e := w.run(allowed(), RunConfig{})
		resp, _ := ask(t, e, getFrom("http://allowed.test/"))
		if resp.StatusCode != 502 || resp.Header.Get(ReasonHeader) != string(ReasonConnection) {
			t.Errorf("%s: got %s %s", name, resp.Status, resp.Header.Get(ReasonHeader))
		}
	}
}

func TestInformationalResponsesAreSkipped(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(80, func(c net.Conn) {
		http.ReadRequest(bufio.NewReader(c))
		io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 Whatever\r\nContent-Length: 2\r\n\r\nok")
	})
	_, e := w.run(allowed(), RunConfig{})
	if resp, body := ask(t, e, getFrom("http://allowed.test/")); resp.Status != "200 OK" || body != "ok" {
		t.Errorf("got %s %q", resp.Status, body)
	}
}

// TestDeadKeptConnectionsAreReplaced: a server may close what was kept for it
// at any time; a GET is asked again, and only that.
func TestDeadKeptConnectionsAreReplaced(t *testing.T) {
	w := newWorld(t, Options{})
	w.tcp(80, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		} // and closes, without having said so
	})
	_, e := w.run(allowed(), RunConfig{})
	for i := range 5 {
		if resp, body := ask(t, e, getFrom("http://allowed.test/")); resp.StatusCode != 200 || body != "ok" {
			t.Errorf("request %d: got %s %q", i+1, resp.Status, body)
		}
	}
	if d := len(w.dials()); d != 5 {
		t.Errorf("%d dials, want 5", d)
	}
	post := "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 1\r\n\r\nx"
	if resp, _ := ask(t, e, post); resp.StatusCode != 200 {
		t.Errorf("POST: got %s", resp.Status)
	}
	if d := len(w.dials()); d != 6 {
		t.Errorf("POST: %d dials, want 6: never over a kept connection", d)
	}
}

// TestAnswersSurviveWhatTheClientStillSends: an answer must not be lost in the
// reset that closing over unread bytes would send.
func TestAnswersSurviveWhatTheClientStillSends(t *testing.T) {
	w := newWorld(t, Options{})
	_, e := w.run(allowed(), RunConfig{})
	const size = 200 << 10
	for range 10 {
		c := raw(t, e)
		fmt.Fprintf(c, "POST http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nContent-Length: %d\r\n\r\n", size)
		for range size / 1024 {
			if _, err := c.Write(make([]byte, 1024)); err != nil {
				t.Fatal(err)
			}
		}
		if resp, _ := readAnswer(t, bufio.NewReader(c)); resp.StatusCode != 403 {
			t.Errorf("got %s", resp.Status)
		}
	}
}

func TestMethodsAndBodies(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.Header().Set("Etag", `"1"`)
			w.WriteHeader(304)
		default:
			fmt.Fprintf(w, "%s %d %s", r.Method, n, r.Header.Get("Content-Length"))
		}
	})
	_, e := w.run(allowed(), RunConfig{})
	c := raw(t, e)
	br := bufio.NewReader(c)
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "/", "", "GET 0 "},
		{"HEAD", "/", "", ""},
		{"POST", "/", strings.Repeat("x", 100_000), "POST 100000 100000"},
		{"PUT", "/", "x", "PUT 1 1"},
		{"DELETE", "/", "", "DELETE 0 "},
		{"GET", "/204", "", ""},
		{"GET", "/304", "", ""},
		{"PATCH", "/", "xyz", "PATCH 3 3"},
		{"OPTIONS", "/", "", "OPTIONS 0 "},
	} {
		length := ""
		if tt.body != "" {
			length = fmt.Sprintf("Content-Length: %d\r\n", len(tt.body))
		}
		fmt.Fprintf(c, "%s http://allowed.test%s HTTP/1.1\r\nHost: allowed.test\r\n%s\r\n%s", tt.method, tt.path, length, tt.body)
		resp, err := http.ReadResponse(br, &http.Request{Method: tt.method})
		if err != nil {
			t.Fatalf("%s %s: %v", tt.method, tt.path, err)
		}
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != tt.want {
			t.Errorf("%s %s: got %q, %v, want %q", tt.method, tt.path, body, err, tt.want)
		}
	}
}

func TestExpectContinue(t *testing.T) {
	w := newWorld(t, Options{})
	w.http(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	_, e := w.run(allowed(), RunConfig{})
	c := raw(t, e)
	io.WriteString(c, "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	br := bufio.NewReader(c)
	if resp, err := http.ReadResponse(br, nil); err != nil || resp.StatusCode != 100 {
		t.Fatalf("got %v, %v", resp, err)
	}
	io.WriteString(c, "hello")
	if resp, body := readAnswer(t, br); resp.StatusCode != 200 || body != "hello" {
		t.Errorf("got %s %q", resp.Status, body)
	}
}

// TestClientThatLeavesFreesTheOriginServer: nobody waits for an answer that
// nobody wants.
func TestClientThatLeavesFreesTheOriginServer(t *testing.T) {
	w := newWorld(t, Options{})
	asked, freed := make(chan struct{}), make(chan struct{})
	w.http(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(freed)
	})
	_, e := w.run(allowed(), RunConfig{})
	c := raw(t, e)
	io.WriteString(c, getFrom("http://allowed.test/"))
	<-asked
	c.Close()
	select {
	case <-freed:
	case <-time.After(10 * time.Second):
		t.Error("the origin server still works on it")
	}
}
