package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stripe/smokescreen/pkg/smokescreen"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/policy"
)

// Every role is a process of its own: its address is the first line that it
// writes, a usage in JSON the answer to each line that it reads, and it ends with
// its standard input.
var roles = map[string]func(origin string) (addr string, err error){
	"origin":      serveOrigin,
	"relay":       serveRelay,
	"bellglass":   serveBellglass,
	"smokescreen": serveSmokescreen,
}

// usage is what a process has used.
type usage struct {
	Resident int64  // bytes, after a collection
	Mallocs  uint64 // so far
	Bytes    uint64 // allocated so far
	CPU      int64  // processor time so far, nanoseconds
}

func play(role, origin string) error {
	serve := roles[role]
	if serve == nil {
		return fmt.Errorf("no role %q", role)
	}
	addr, err := serve(origin)
	if err != nil {
		return err
	}
	fmt.Println(addr)
	out := json.NewEncoder(os.Stdout)
	asked := int64(0) // processor time of questions
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		cpu := processorTime() // before what the question itself costs
		debug.FreeOSMemory()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		u := usage{Resident: resident(), Mallocs: m.Mallocs, Bytes: m.TotalAlloc, CPU: cpu - asked}
		asked += processorTime() - cpu
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

// processorTime returns the nanoseconds that this process has run so far.
func processorTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// resident returns the resident memory of this process, as the kernel counts
// it, or zero where it does not tell.
func resident() int64 {
	b, _ := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// The host that everybody asks for, and what its name resolves to. Who dials
// that address gets the origin instead.
const host = "allowed.test"

var public = netip.MustParseAddr("93.184.215.14")

// serveOrigin speaks two protocols, told apart by their first byte. One is http,
// with a small page. The other begins with a ClientHello, of which one byte is
// sent back, and then takes commands; see [tunnel].
func serveOrigin(string) (string, error) {
	ln, err := listen()
	if err != nil {
		return "", err
	}
	page := strings.Repeat("x", 1024)
	answer := []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", len(page), page))
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				br := bufio.NewReader(c)
				if first, err := br.Peek(1); err != nil || first[0] != 22 {
					for {
						r, err := http.ReadRequest(br)
						if err != nil {
							return
						}
						io.Copy(io.Discard, r.Body)
						if _, err := c.Write(answer); err != nil {
							return
						}
					}
				}
				obey(c, br)
			}()
		}
	}()
	return ln.Addr().String(), nil
}

// obey serves a tunnel.
func obey(c net.Conn, br *bufio.Reader) {
	head, err := br.Peek(5) // of a TLS record: type, version, length
	if err != nil {
		return
	}
	if _, err := br.Discard(5 + int(head[3])<<8 + int(head[4])); err != nil {
		return
	}
	if _, err := c.Write([]byte{1}); err != nil {
		return
	}
	line, err := br.ReadString('\n') // how many bytes to send
	size, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	buf := make([]byte, 256<<10)
	for err == nil && size > 0 {
		var n int
		n, err = c.Write(buf[:min(size, int64(len(buf)))])
		size -= int64(n)
	}
	io.Copy(io.Discard, br)
}

// serveRelay is the least that a relay can do: two sockets, copied both ways by
// the kernel. It reads nothing, judges nothing and bounds nothing.
func serveRelay(origin string) (string, error) {
	ln, err := listen()
	if err != nil {
		return "", err
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				up, err := net.Dial("tcp", origin)
				if err != nil {
					return
				}
				defer up.Close()
				go func() {
					io.Copy(up, c)
					up.(*net.TCPConn).CloseWrite()
				}()
				io.Copy(c, up)
			}()
		}
	}()
	return ln.Addr().String(), nil
}

// serveBellglass is the proxy as it runs: an allowlist, all checks, and an audit
// line for each decision and each end.
func serveBellglass(origin string) (string, error) {
	audit := slog.New(slog.NewJSONHandler(io.Discard, nil))
	p := egress.NewProxy(&egress.Gate{
		Resolve: func(context.Context, string) ([]netip.Addr, error) { return []netip.Addr{public}, nil },
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", origin)
		},
	}, egress.Options{MaxClients: 1 << 20, OnEvent: func(ev egress.Event) {
		audit.LogAttrs(context.Background(), slog.LevelInfo, "egress", ev.LogAttrs()...)
	}})
	e, err := p.Listen()
	if err != nil {
		return "", err
	}
	rules, err := policy.Compile(policy.Config{Mode: policy.ModeAllowlist, Allow: []string{host}, AllowInsecureHTTP: true})
	if err != nil {
		return "", err
	}
	e.Assign(egress.NewRun(egress.RunConfig{Tenant: "bench", ID: "1", Rules: rules, MaxConns: -1, MaxRequests: -1, MaxBytes: -1}))
	return e.Addr().String(), nil
}

// serveSmokescreen is Stripe's proxy with the same list, and its log. Its
// resolver and its dialer are replaced as ours are.
func serveSmokescreen(origin string) (string, error) {
	dir, err := os.MkdirTemp("", "bellglass-bench-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	list := filepath.Join(dir, "acl.yaml")
	text := "version: v1\nservices:\n  - {name: bench, project: bench, action: enforce, allowed_domains: [" + host + "]}\n"
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		return "", err
	}
	log.SetOutput(io.Discard)
	c := smokescreen.NewConfig()
	c.Log.SetOutput(io.Discard)
	if err := c.SetupEgressAcl(list); err != nil {
		return "", err
	}
	c.RoleFromRequest = func(*http.Request) (string, error) { return "bench", nil }
	c.Resolver = fixed{}
	c.ProxyDialTimeout = func(ctx context.Context, _, _ string, timeout time.Duration) (net.Conn, error) {
		d := net.Dialer{Timeout: timeout}
		return d.DialContext(ctx, "tcp", origin)
	}
	c.TransportMaxIdleConns, c.TransportMaxIdleConnsPerHost = 100, 100
	if c.Listener, err = listen(); err != nil {
		return "", err
	}
	go smokescreen.StartWithConfig(c, nil)
	return c.Listener.Addr().String(), nil
}

// fixed is a resolver that knows one address.
type fixed struct{}

func (fixed) LookupIP(context.Context, string, string) ([]net.IP, error) {
	return []net.IP{public.AsSlice()}, nil
}

func (fixed) LookupPort(ctx context.Context, network, service string) (int, error) {
	return net.DefaultResolver.LookupPort(ctx, network, service)
}
