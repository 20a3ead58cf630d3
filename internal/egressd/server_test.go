package egressd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bellglass/bellglass/policy"
)

// notes is a place to write to from many goroutines.
type notes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(b)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.String()
}

// free returns an address on loopback that was free a moment ago.
func free(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// daemon is a running server of which the test knows the files.
type daemon struct {
	*Server
	t        *testing.T
	out, log notes
}

func config(t *testing.T, file string) *Config {
	t.Helper()
	c, err := parse(t.Context(), "egress.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t *testing.T, file string) *daemon {
	t.Helper()
	d := &daemon{t: t}
	var err error
	d.Server, err = Start(config(t, file), Options{Log: slog.New(slog.NewTextHandler(&d.log, nil)), Stdout: &d.out, Version: "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// lines returns the audit lines that hold all of some words.
func (d *daemon) lines(words ...string) []map[string]any {
	d.t.Helper()
	var out []map[string]any
	for line := range strings.Lines(d.out.String()) {
		match := true
		for _, w := range words {
			match = match && strings.Contains(line, w)
		}
		if !match {
			continue
		}
		m := map[string]any{}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			d.t.Errorf("audit line %q: %v", line, err)
		}
		out = append(out, m)
	}
	return out
}

// ask sends a request for a URL through a proxy and returns status and body.
func ask(t *testing.T, proxy, url string) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return askOver(t, c, url)
}

func askOver(t *testing.T, c net.Conn, url string) (int, string) {
	t.Helper()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := req.WriteProxy(c); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (d *daemon) get(path string) (int, string) {
	d.t.Helper()
	resp, err := http.Get("http://" + d.adminAt.String() + path)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return resp.StatusCode, string(b)
}

// origin is a server on loopback that says its name, and streams on request.
func origin(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "origin")
		if r.URL.Path == "/stream" {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// stream begins a response that does not end, and returns a check of whether it
// still goes on.
func stream(t *testing.T, proxy, url string) (goesOn func() bool) {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	return streamOver(t, c, url)
}

func streamOver(t *testing.T, c net.Conn, url string) (goesOn func() bool) {
	t.Helper()
	t.Cleanup(func() { c.Close() })
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.WriteProxy(c)
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, len("origin"))); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		_, err := br.ReadByte()
		return os.IsTimeout(err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("not within 10 seconds: %s", what)
}

// TestRolesDifferByListener: and what they did stands in audit lines and
// counters, which name no path, no address and, in counters, no host.
func TestRolesDifferByListener(t *testing.T) {
	at, a, b := origin(t), free(t), free(t)
	d := run(t, fmt.Sprintf(`
roles:
  may: {listen: %q, mode: allowlist, unsafe_allow: [%q]}
  may-not: {listen: %q, mode: allowlist, allow: [example.com], allow_insecure_http: true}
admin: %q
`, a, at, b, free(t)))
	if code, body := ask(t, a, "http://"+at+"/secret-path?q=1"); code != 200 || body != "origin" {
		t.Errorf("may: %d %q", code, body)
	}
	if code, body := ask(t, b, "http://"+at+"/secret-path?q=1"); code != 403 || !strings.Contains(body, "address_not_public") {
		t.Errorf("may-not: %d %q", code, body)
	}
	if code, body := ask(t, b, "http://other.example.org/"); code != 403 || !strings.Contains(body, "host_not_allowed") {
		t.Errorf("may-not: %d %q", code, body)
	}
	eventually(t, "four audit lines", func() bool { return len(d.lines("role")) == 4 })
	for _, words := range [][]string{
		{`"role":"may"`, `"event":"decision"`, `"reason":""`, `"class":"loopback"`},
		{`"role":"may"`, `"event":"close"`, `"received":`},
		{`"role":"may-not"`, `"event":"decision"`, `"reason":"address_not_public"`},
		{`"role":"may-not"`, `"event":"decision"`, `"reason":"host_not_allowed"`, `"host":"other.example.org"`},
	} {
		if len(d.lines(words...)) != 1 {
			t.Errorf("not one line with %v in\n%s", words, d.out.String())
		}
	}
	for _, never := range []string{"secret-path", `"level"`, `"msg"`} {
		if strings.Contains(d.out.String(), never) {
			t.Errorf("the audit lines hold %q", never)
		}
	}
	_, m := d.get("/metrics")
	for _, want := range []string{
		`bellglass_egress_decisions_total{class="loopback",reason="allowed"} 1`,
		`bellglass_egress_decisions_total{class="none",reason="host_not_allowed"} 1`,
		`bellglass_egress_closes_total{reason="ended"} 1`,
		`bellglass_egress_open 0`, `bellglass_egress_clients 0`, `bellglass_egress_reload_failed 0`,
		`bellglass_egress_build_info{go=`, `version="1.2.3"} 1`, `bellglass_egress_resolve_seconds_count 1`,
	} {
		if !strings.Contains(m, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	for _, never := range []string{"example.org", "127.0.0.1", "may"} {
		if strings.Contains(m, `"`+never) {
			t.Errorf("a label names %q", never)
		}
	}
	if !strings.Contains(m, `bellglass_egress_bytes_total{direction="received"} `) || strings.Contains(m, `bellglass_egress_bytes_total{direction="received"} 0`) {
		t.Error("no bytes were counted")
	}
	if code, body := d.get("/healthz"); code != 200 || !strings.Contains(body, `"status":"ok"`) || !strings.Contains(body, `"roles":2`) {
		t.Errorf("healthz: %d %s", code, body)
	}
	if s := d.log.String(); !strings.Contains(s, "unsafe_allow") {
		t.Errorf("the log does not warn of unsafe_allow: %s", s)
	}
}

// TestReload: what is still allowed goes on, what is not is cut, listeners come
// and go.
func TestReload(t *testing.T) {
	one, two := origin(t), origin(t)
	a, b, c := free(t), free(t), free(t)
	file := func(roles string) string { return "admin: none\nroles:\n" + roles }
	role := func(name, at, unsafe string) string {
		return fmt.Sprintf("  %s: {listen: %q, mode: allowlist, unsafe_allow: [%s]}\n", name, at, unsafe)
	}
	d := run(t, file(role("a", a, `"`+one+`", "`+two+`"`)+role("b", b, `"`+one+`"`)))
	stays, goes, gone := stream(t, a, "http://"+one+"/stream"), stream(t, a, "http://"+two+"/stream"), stream(t, b, "http://"+one+"/stream")
	if !stays() || !goes() || !gone() {
		t.Fatal("a stream ended by itself")
	}
	if err := d.Reload(config(t, file(role("a", a, `"`+one+`"`)+role("c", c, `"`+two+`"`)))); err != nil {
		t.Fatal(err)
	}
	if !stays() {
		t.Error("an allowed stream was cut")
	}
	eventually(t, "what is no longer allowed to end", func() bool { return !goes() && !gone() })
	if code, _ := ask(t, a, "http://"+two+"/"); code != 403 {
		t.Errorf("the old rules hold: %d", code)
	}
	if code, _ := ask(t, c, "http://"+two+"/"); code != 200 {
		t.Errorf("the new role: %d", code)
	}
	if nc, err := net.Dial("tcp", b); err == nil {
		nc.Close()
		t.Error("the listener of the role that went is open")
	}
	// The role moves to another listener: those at the old one are cut.
	if err := d.Reload(config(t, file(role("a", b, `"`+one+`"`)+role("c", c, `"`+two+`"`)))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old listener's clients to be cut", func() bool { return !stays() })
	if code, _ := ask(t, b, "http://"+one+"/"); code != 200 {
		t.Errorf("the new listener: %d", code)
	}
	if n := len(d.lines(`"role":"a"`, `"what":"no longer allowed"`)); n != 1 {
		t.Errorf("%d audit lines about what was cut", n)
	}
}

// TestBadReloadChangesNothing.
func TestBadReloadChangesNothing(t *testing.T) {
	at, a, admin := origin(t), free(t), free(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	role := fmt.Sprintf("roles:\n  a: {listen: %q, mode: allowlist, unsafe_allow: [%q]}\n", a, at)
	d := run(t, role+"admin: "+admin+"\n")
	for what, file := range map[string]string{
		"admin, dns, max_clients changed": role + "admin: none\ndns: {timeout: 1s}\nmax_clients: 3\n",
		"address already in use":          role + "  b: {listen: " + taken.Addr().String() + "}\nadmin: " + admin + "\n",
		"went from role a to role b":      fmt.Sprintf("roles:\n  b: {listen: %q}\nadmin: %s\n", a, admin),
		"no such file or directory":       role + "admin: " + admin + "\naudit: /nowhere/audit\n",
	} {
		if err := d.Reload(config(t, file)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %s", err, what)
		}
		if code, _ := ask(t, a, "http://"+at+"/"); code != 200 {
			t.Errorf("after %q: %d", what, code)
		}
	}
	if _, body := d.get("/healthz"); !strings.Contains(body, `"reload_failed":true`) {
		t.Errorf("healthz: %s", body)
	}
	if err := d.Reload(config(t, role+"admin: "+admin+"\n")); err != nil {
		t.Error(err)
	}
	if _, body := d.get("/healthz"); !strings.Contains(body, `"reload_failed":false`) {
		t.Errorf("healthz: %s", body)
	}
	if _, m := d.get("/metrics"); !strings.Contains(m, `bellglass_egress_reloads_total{result="failed"} 4`) || !strings.Contains(m, `bellglass_egress_reloads_total{result="ok"} 1`) {
		t.Error("the reloads were not counted")
	}
}

// TestAuditFileIsOpenedAnew: a file that was rotated away is begun again.
func TestAuditFileIsOpenedAnew(t *testing.T) {
	at, a, dir := origin(t), free(t), t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	file := fmt.Sprintf("roles:\n  a: {listen: %q, mode: allowlist, unsafe_allow: [%q]}\nadmin: none\naudit: %s\n", a, at, path)
	d := run(t, file)
	count := func(path string) int {
		b, _ := os.ReadFile(path)
		return strings.Count(string(b), "\n")
	}
	ask(t, a, "http://"+at+"/")
	eventually(t, "two lines", func() bool { return count(path) == 2 })
	os.Rename(path, path+".1")
	if err := d.Reload(config(t, file)); err != nil {
		t.Fatal(err)
	}
	ask(t, a, "http://"+at+"/")
	eventually(t, "two lines in the new file", func() bool { return count(path) == 2 && count(path+".1") == 2 })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// process runs the command as a program would.
type process struct {
	signals  chan os.Signal
	out, log notes
	code     chan int
}

func (p *process) start(c Command) *process {
	p.signals, p.code = make(chan os.Signal, 8), make(chan int, 1)
	go func() {
		p.code <- c.Execute(context.Background(), World{Stdout: &p.out, Stderr: &p.log, Version: "1", Signals: p.signals})
	}()
	return p
}

func (p *process) said(what string) func() bool {
	return func() bool { return strings.Contains(p.log.String(), what) }
}

// TestSignals: SIGHUP reads the file again, a bad one is told line by line;
// SIGTERM lets a stream go on and nobody in; a second one cuts it.
func TestSignals(t *testing.T) {
	at, a, admin := origin(t), free(t), free(t)
	path := filepath.Join(t.TempDir(), "egress.yaml")
	write := func(file string) {
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	good := fmt.Sprintf("roles:\n  a: {listen: %q, mode: allowlist, unsafe_allow: [%q]}\nadmin: %s\ndrain: 1h\n", a, at, admin)
	write(good)
	p := new(process).start(Command{Config: path})
	eventually(t, "ready", p.said("ready"))
	goesOn := stream(t, a, "http://"+at+"/stream")

	write(good + "nonsense: 1\nmore: 2\n")
	p.signals <- syscall.SIGHUP
	eventually(t, "both mistakes", func() bool {
		return p.said(path+`:5: unknown key \"nonsense\"`)() && p.said(path+`:6: unknown key \"more\"`)()
	})
	write(good)
	p.signals <- syscall.SIGHUP
	eventually(t, "reloaded", p.said("msg=reloaded"))
	if !goesOn() {
		t.Error("a reload cut what it allows")
	}

	p.signals <- syscall.SIGTERM
	eventually(t, "draining", func() bool {
		resp, err := http.Get("http://" + admin + "/healthz")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
		return resp.StatusCode == 503
	})
	eventually(t, "nobody to be let in", func() bool {
		c, err := net.Dial("tcp", a)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	p.signals <- syscall.SIGHUP // too late
	if !goesOn() {
		t.Error("the stream was cut before its time")
	}
	p.signals <- syscall.SIGTERM
	if code := <-p.code; code != ExitOK {
		t.Errorf("exit code %d", code)
	}
	if goesOn() {
		t.Error("the stream outlived the proxy")
	}
	if !p.said(`"connections cut"=1`)() {
		t.Errorf("log: %s", &p.log.b)
	}
}

// TestDrainEndsByItself when the last client has left, and at its limit.
func TestDrainEndsByItself(t *testing.T) {
	for _, drain := range []string{"1h", "50ms"} {
		at, a := origin(t), free(t)
		path := filepath.Join(t.TempDir(), "egress.yaml")
		os.WriteFile(path, fmt.Appendf(nil, "roles:\n  a: {listen: %q, mode: allowlist, unsafe_allow: [%q]}\nadmin: none\ndrain: %s\n", a, at, drain), 0o600)
		p := new(process).start(Command{Config: path})
		eventually(t, "ready", p.said("ready"))
		c, err := net.Dial("tcp", a)
		if err != nil {
			t.Fatal(err)
		}
		streamOver(t, c, "http://"+at+"/stream")
		p.signals <- syscall.SIGTERM
		eventually(t, "draining", p.said("draining"))
		if drain == "1h" {
			c.Close()
		}
		if code := <-p.code; code != ExitOK {
			t.Errorf("%s: exit code %d", drain, code)
		}
	}
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		c         Command
		code      int
		out, said string
	}{
		{Command{Config: file("good", "roles: {a: {listen: '127.0.0.1:3128'}}"), Check: true}, 0, "good, 1 roles", ""},
		{Command{Config: file("bad", "roles:\n  a: {}\n"), Check: true}, 2, "", "bad:2: role a has neither"},
		{Command{Config: file("bad", "roles:\n  a: {}\n")}, 2, "", "bad:2: role a has neither"},
		{Command{Config: filepath.Join(dir, "missing"), Check: true}, 2, "", "no such file"},
		{Command{Config: file("taken", "admin: none\nroles: {a: {listen: '"+taken.Addr().String()+"'}}")}, 1, "", "address already in use"},
		{Command{Config: file("admin", "admin: "+taken.Addr().String()+"\nroles: {a: {listen: '"+free(t)+"'}}")}, 1, "", "address already in use"},
	} {
		p := new(process).start(tt.c)
		if code := <-p.code; code != tt.code {
			t.Errorf("%+v: exit code %d, want %d", tt.c, code, tt.code)
		}
		if !strings.Contains(p.out.String(), tt.out) || !p.said(tt.said)() {
			t.Errorf("%+v: said %q, %q", tt.c, p.out.String(), p.log.String())
		}
	}
}

// TestWordsOfAGatewayAreBounded: a label takes only what is known.
func TestWordsOfAGatewayAreBounded(t *testing.T) {
	for word, want := range map[string]string{"": "none", "host_not_allowed": "host_not_allowed", "proxy_unavailable": "proxy_unavailable", "made_up": "other"} {
		if got := reasonLabel(policy.Reason(word), "none"); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
