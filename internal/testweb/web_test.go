package testweb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns an unsealed client of the small internet.
func client(t *testing.T, w *Web) *http.Client {
	t.Helper()
	tr := &http.Transport{
		DialContext:       w.DialContext,
		TLSClientConfig:   &tls.Config{RootCAs: w.CAPool()},
		ForceAttemptHTTP2: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 10 * time.Second}
}

// get fetches a page whole.
func get(t *testing.T, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		t.Fatalf("GET %s: %v", url, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("GET %s: body: %v", url, err)
	}
	return res, string(body)
}

func hello(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello from ", name) })
}

func TestSitesAnswerOverHTTPAndHTTPS(t *testing.T) {
	w := New(t)
	w.Handle("shop.test", hello("shop"))
	w.Handle("Bank.Test.", hello("bank"))
	w.ServePlain("bank.test", 8080)
	w.ServeTLS("bank.test", 8443)
	c := client(t, w)
	for _, tc := range []struct{ url, want, proto string }{
		{"http://shop.test/", "hello from shop", "HTTP/1.1"},
		{"https://shop.test/", "hello from shop", "HTTP/2.0"},
		{"https://bank.test/", "hello from bank", "HTTP/2.0"},
		{"http://BANK.test:8080/", "hello from bank", "HTTP/1.1"},
		{"https://bank.test:8443/x%2fy?q=1", "hello from bank", "HTTP/2.0"},
	} {
		res, body := get(t, c, tc.url)
		if body != tc.want || res.Proto != tc.proto {
			t.Errorf("GET %s = %q over %s, want %q over %s", tc.url, body, res.Proto, tc.want, tc.proto)
		}
	}
	var got []string
	for _, h := range w.Hits("bank.test") {
		got = append(got, fmt.Sprintf("%v | %s | %v | %s", h, h.SNI, h.TLS, h.Proto))
	}
	want := []string{
		"GET https://bank.test:443/ | bank.test | true | HTTP/2.0",
		"GET http://bank.test:8080/ (Host: BANK.test:8080) | " + " | false | HTTP/1.1",
		"GET https://bank.test:8443/x%2fy?q=1 (Host: bank.test:8443) | bank.test | true | HTTP/2.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hits of bank.test (-want +got):\n%s", diff)
	}
}

func TestAddressesAreStableAndPublic(t *testing.T) {
	w := New(t)
	a := w.Handle("a.test", hello("a"))
	b := w.Handle("b.test", hello("b"))
	if again := w.Handle("a.test", hello("a, later")); again != a {
		t.Errorf("Handle(a.test) again = %v, want %v", again, a)
	}
	if a == b || w.Addr("a.test") != a || w.Addr6("a.test") == w.Addr6("b.test") {
		t.Errorf("addresses %v and %v", a, b)
	}
	for _, ip := range []netip.Addr{a, b, w.Addr6("a.test")} {
		if !ip.IsGlobalUnicast() || ip.IsPrivate() {
			t.Errorf("%v does not look public", ip)
		}
	}
	if _, body := get(t, client(t, w), "http://a.test/"); body != "hello from a, later" {
		t.Errorf("body = %q, want that of the later handler", body)
	}
}

func TestOneSiteCannotSpeakForAnother(t *testing.T) {
	w := New(t)
	good := w.Handle("good.test", hello("good"))
	w.Handle("evil.test", hello("evil"))
	w.Script("evil.test", Addrs(good.String())) // rebinding
	_, err := client(t, w).Get("https://evil.test/")
	if err == nil || !strings.Contains(err.Error(), "good.test") {
		t.Errorf("TLS to another site's address: error %v, want a certificate for good.test", err)
	}
	if _, body := get(t, client(t, w), "http://evil.test/"); body != "hello from good" {
		t.Errorf("http at good.test's address = %q", body)
	}
	if h := w.Hits("good.test"); len(h) != 1 || h[0].Host != "evil.test" {
		t.Errorf("hits = %v, want one with Host evil.test", h)
	}
}

func TestUnknownAddressesRefuseAndAreCounted(t *testing.T) {
	w := New(t)
	shop := w.Handle("shop.test", hello("shop"))
	for _, to := range []string{"169.254.169.254:80", "[::1]:80", "127.0.0.1:80", shop.String() + ":22"} {
		c, err := w.Dial(t.Context(), netip.MustParseAddrPort(to))
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial(%s) = %v, %v, want connection refused", to, c, err)
		}
	}
	want := []string{
		"169.254.169.254:80 refused", "[::1]:80 refused", "127.0.0.1:80 refused",
		shop.String() + ":22 (shop.test) refused",
	}
	var got []string
	for _, d := range w.Dialed() {
		got = append(got, d.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Dialed() (-want +got):\n%s", diff)
	}
}

func TestDialNamesTheAddressAndHalfCloses(t *testing.T) {
	w := New(t)
	w.HandleConn("raw.test", 7, func(c net.Conn) { io.Copy(c, c) })
	for _, ip := range []netip.Addr{w.Addr("raw.test"), w.Addr6("raw.test"), netip.AddrFrom16(w.Addr("raw.test").As16())} {
		to := netip.AddrPortFrom(ip, 7)
		c, err := w.Dial(t.Context(), to)
		if err != nil {
			t.Fatalf("Dial(%v): %v", to, err)
		}
		if got := c.RemoteAddr().String(); got != net.TCPAddrFromAddrPort(to).String() {
			t.Errorf("RemoteAddr() = %s, want %v", got, to)
		}
		io.WriteString(c, "ahoy")
		c.(interface{ CloseWrite() error }).CloseWrite()
		if b, err := io.ReadAll(c); string(b) != "ahoy" || err != nil {
			t.Errorf("echo = %q, %v", b, err)
		}
		c.Close()
	}
}

func TestBlackholeLastsUntilTheContextEnds(t *testing.T) {
	w := New(t)
	addr := w.Handle("slow.test", hello("slow"))
	w.Blackhole(addr)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := w.Dial(ctx, netip.AddrPortFrom(addr, 80)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Dial of a black hole: %v", err)
	}
}

func TestDNSScripts(t *testing.T) {
	w, err := Start(Options{IPv6: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	shop := w.Handle("shop.test", hello("shop"))
	shop6 := w.Addr6("shop.test")
	w.Handle("rebind.test", hello("rebind"))
	w.Script("rebind.test", Addrs("93.184.216.99"), Addrs("127.0.0.1"), Addrs("10.0.0.1", "::1"))
	w.Script("gone.test", NotFound())
	w.Script("broken.test", ServFail(), Addrs("93.184.216.98").After(time.Millisecond))
	w.Script("empty.test", Addrs())
	for _, tc := range []struct{ host, want string }{
		{"shop.test", fmt.Sprintf("[%v %v]", shop, shop6)},
		{"SHOP.test.", fmt.Sprintf("[%v %v]", shop, shop6)},
		{"rebind.test", "[93.184.216.99]"},
		{"rebind.test", "[127.0.0.1]"},
		{"Rebind.Test", "[10.0.0.1 ::1]"},
		{"rebind.test", "[10.0.0.1 ::1]"},
		{"gone.test", "not found"},
		{"nobody.test", "not found"},
		{"broken.test", "temporary"},
		{"broken.test", "[93.184.216.98]"},
		{"empty.test", "[]"},
		{"localhost", "[127.0.0.1 ::1]"},
		{"169.254.169.254", "[169.254.169.254]"},
	} {
		if got := lookup(t.Context(), w, tc.host); got != tc.want {
			t.Errorf("Resolve(%s) = %s, want %s", tc.host, got, tc.want)
		}
	}
	w.Script("rebind.test")
	if got := lookup(t.Context(), w, "rebind.test"); got == "[10.0.0.1 ::1]" {
		t.Errorf("Resolve after the script was removed = %s", got)
	}
	if n := len(w.Resolved()); n != 14 {
		t.Errorf("%d names resolved, want 14", n)
	}
}

// lookup describes an answer in a word.
func lookup(ctx context.Context, w *Web, host string) string {
	addrs, err := w.Resolve(ctx, host)
	var dns *net.DNSError
	switch {
	case err == nil:
		return fmt.Sprint(addrs)
	case !errors.As(err, &dns) || dns.Name != host:
		return "not a DNS error about this name: " + err.Error()
	case dns.IsNotFound:
		return "not found"
	case dns.IsTimeout:
		return "timeout"
	case dns.IsTemporary:
		return "temporary"
	}
	return err.Error()
}

func TestSlowAnswersObeyTheContext(t *testing.T) {
	w := New(t)
	w.Script("slow.test", NotFound().After(time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if got := lookup(ctx, w, "slow.test"); got != "timeout" {
		t.Errorf("Resolve(slow.test) = %s, want timeout", got)
	}
	if _, err := w.Resolve(ctx, "slow.test"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error does not wrap the context's: %v", err)
	}
}

func TestBadTLS(t *testing.T) {
	w := New(t)
	for _, tc := range []struct {
		fault Fault
		want  func(error) bool
	}{
		{Expired, invalid(x509.Expired)},
		{NotYetValid, invalid(x509.Expired)},
		{WrongName, as[x509.HostnameError]},
		{SelfSigned, as[x509.UnknownAuthorityError]},
		{Incomplete, as[x509.UnknownAuthorityError]},
	} {
		host := fmt.Sprintf("bad%d.test", tc.fault)
		w.Handle(host, hello(host))
		w.BadTLS(host, tc.fault)
		_, err := client(t, w).Get("https://" + host + "/")
		if err == nil || !tc.want(err) {
			t.Errorf("fault %d: error %v", tc.fault, err)
		}
		if n := len(w.Hits(host)); n != 0 {
			t.Errorf("fault %d: %d requests got through", tc.fault, n)
		}
	}
	if res, body := get(t, client(t, w), "http://"+AIAHost+"/issuer.crt"); res.StatusCode != 200 || len(body) == 0 {
		t.Errorf("the missing intermediate: status %d, %d bytes", res.StatusCode, len(body))
	}
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func invalid(reason x509.InvalidReason) func(error) bool {
	return func(err error) bool {
		var e x509.CertificateInvalidError
		return errors.As(err, &e) && e.Reason == reason
	}
}

func TestSPKIHashIsOfTheGoodKeyOnly(t *testing.T) {
	w := New(t)
	w.Handle("good.test", hello("good"))
	w.Handle("bad.test", hello("bad"))
	w.BadTLS("bad.test", Expired)
	for host, want := range map[string]bool{"good.test": true, "bad.test": false} {
		c, err := w.Dial(t.Context(), netip.AddrPortFrom(w.Addr(host), 443))
		if err != nil {
			t.Fatal(err)
		}
		tc := tls.Client(c, &tls.Config{InsecureSkipVerify: true, ServerName: host})
		if err := tc.Handshake(); err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		key := tc.ConnectionState().PeerCertificates[0].RawSubjectPublicKeyInfo
		if got := hashSPKI(key) == w.SPKIHash(); got != want {
			t.Errorf("%s: key is in the list: %v, want %v", host, got, want)
		}
		tc.Close()
	}
}

func TestWaitSeesPastAndFutureHits(t *testing.T) {
	w := New(t)
	w.Handle("shop.test", hello("shop"))
	c := client(t, w)
	found := make(chan bool)
	go func() {
		_, ok := w.Wait(t.Context(), "shop.test", func(h Hit) bool { return h.Path == "/second" })
		found <- ok
	}()
	get(t, c, "http://shop.test/first")
	get(t, c, "http://shop.test/second")
	if !<-found {
		t.Error("Wait missed the second hit")
	}
	if h, ok := w.Wait(t.Context(), "", func(h Hit) bool { return h.Path == "/first" }); !ok || h.Site != "shop.test" {
		t.Errorf("Wait for a past hit = %v, %v", h, ok)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := w.Wait(ctx, "", func(Hit) bool { return false }); ok {
		t.Error("Wait reported a hit that never was")
	}
}

func TestCloseEndsHangingRequests(t *testing.T) {
	w := New(t)
	w.Handle("shop.test", Site())
	errs := make(chan error, 3)
	for _, url := range []string{"http://shop.test/hang", "https://shop.test/hang?head=1", "http://shop.test/drip"} {
		go func() {
			res, err := client(t, w).Get(url)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			errs <- err
		}()
		w.Wait(t.Context(), "shop.test", func(h Hit) bool { return strings.Contains(url, h.Path) })
	}
	w.Close()
	for range 3 {
		if err := <-errs; err == nil {
			t.Error("a hanging request ended well")
		}
	}
	w.Close() // again, harmless
}
