package testweb

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/bellglass/bellglass/internal/wire"
)

func TestCanarySeesEveryKindOfVisit(t *testing.T) {
	c := NewCanary(t)
	res, err := http.Get(c.URL() + "path")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != "the canary was reached\n" || res.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("answer %q, %v", body, res.Header)
	}

	silent, err := net.Dial("tcp", c.HostPort())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()

	udp, err := net.Dial("udp", c.HostPort())
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	io.WriteString(udp, "\x00\x01\x00\x00\x21\x12\xa4\x42transaction!")
	buf := make([]byte, 100)
	udp.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, err := udp.Read(buf)
	if err != nil || wire.Describe(buf[:n]) != "STUN binding success" {
		t.Errorf("answer to STUN: %x, %v", buf[:n], err)
	}

	for _, want := range []string{"HTTP GET " + c.HostPort() + "/path", "nothing", "STUN binding request"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if _, ok := c.Wait(ctx, func(h CanaryHit) bool { return h.What == want }); !ok {
			t.Errorf("no hit %q among %v", want, c.Hits())
		}
		cancel()
	}
	if n := len(c.Hits()); n != 3 {
		t.Errorf("%d hits, want 3: %v", n, c.Hits())
	}
}

func TestCanaryListensOnIPv6(t *testing.T) {
	if !hasIPv6() {
		t.Skip("this machine has no IPv6")
	}
	c := NewCanary(t)
	res, err := http.Get(strings.Replace(c.URL(), "127.0.0.1", "[::1]", 1))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if h := c.Hits(); len(h) != 1 || h[0].To.Addr() != netip.IPv6Loopback() {
		t.Errorf("hits %v", h)
	}
}
