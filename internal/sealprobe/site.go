package sealprobe

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bellglass/bellglass/internal/vectors"
)

// The site whose pages try to get out; it alone may be reached.
const (
	siteHost = "probe.test"
	aiaHost  = "aia.probe.test" // has a certificate without its issuer's
)

// Its addresses: the site, and one of it on which nothing listens.
var (
	siteAddr = netip.MustParseAddr("93.184.99.1")
	aiaAddr  = netip.MustParseAddr("93.184.99.2")
	deafAddr = netip.MustParseAddr("93.184.99.3")
)

var (
	//go:embed site/page.html
	pageHTML string
	//go:embed site/attempts.js
	attemptsJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// A page goes on for holdAfter when it has made its last attempt, in real time:
// what a browser does late (ICE checks, a second look-up, QUIC beside TCP)
// takes up to three seconds (measured). A page that took longer to make its
// attempts than holdUsual is on a machine under load, and gets more time in
// proportion, up to slowest times as much.
const (
	holdUsual = 2 * time.Second
	holdAfter = 3 * time.Second
	holdMost  = 30 * time.Second // for the attempts
	slowest   = 5
)

// after is how long a page goes on that took so long to make its attempts.
func after(took time.Duration) time.Duration {
	return min(max(holdAfter, time.Duration(float64(holdAfter)*took.Seconds()/holdUsual.Seconds())), slowest*holdAfter)
}

// site is the far side of the lab: the pages, and whatever else answers.
type site struct {
	plan []probe
	cert map[string]*tls.Certificate
	spki string // of the key that the browser is told to accept

	mu    sync.Mutex
	asked map[string]int  // look-ups of names that change
	made  map[string]bool // pages that have made their attempts
	done  map[string]bool // pages that have come to their end
}

func newSite(plan []probe) (*site, error) {
	s := &site{plan: plan, cert: map[string]*tls.Certificate{}, asked: map[string]int{}, made: map[string]bool{}, done: map[string]bool{}}
	leaf, err := certificate("probes of the seal", nil, "")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(leaf.Leaf.RawSubjectPublicKeyInfo)
	s.spki = base64.StdEncoding.EncodeToString(sum[:])
	s.cert[""] = leaf
	for i, p := range plan {
		if p.how != "aia" {
			continue
		}
		issuer, err := certificate("an issuer that is not sent", nil, "")
		if err != nil {
			return nil, err
		}
		for _, ph := range []phase{control, sealed} {
			if s.cert[letter(ph)+"."+aiaHost], err = certificate(aiaHost, issuer, probeTarget{p.place, i, ph}.url("http")+p.path); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// letter names a phase in paths and names.
func letter(ph phase) string { return [...]string{"c", "s"}[ph] }

// certificate makes one, signed by itself without an issuer.
func certificate(name string, issuer *tls.Certificate, aia string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		DNSNames:    []string{siteHost, "*." + siteHost, "c." + aiaHost, "s." + aiaHost},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        issuer == nil, BasicConstraintsValid: true,
	}
	parent, signer := t, key
	if issuer != nil {
		parent, signer = issuer.Leaf, issuer.PrivateKey.(*ecdsa.PrivateKey)
		t.IssuingCertificateURL = []string{aia}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

func (s *site) tls() *tls.Config {
	return &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c := s.cert[h.ServerName]; c != nil {
			return c, nil
		}
		return s.cert[""], nil
	}}
}

// resolve answers for the name server of the lab.
func (s *site) resolve(name string) []netip.Addr {
	if ph, n, ok := ofName(name); ok && n < len(s.plan) {
		return []netip.Addr{probeTarget{byName, n, ph}.addr()}
	}
	switch name {
	case siteHost:
		return []netip.Addr{siteAddr}
	case "c." + aiaHost, "s." + aiaHost:
		return []netip.Addr{aiaAddr}
	}
	t, how, ok := s.rebound(name)
	switch {
	case !ok:
		return nil
	case how == "rebind-both":
		return []netip.Addr{deafAddr, t.addr()}
	case how == "rebind-later":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked[name]++
		// IPv4 and IPv6 are asked for at once.
		if s.asked[name] <= 2 {
			return []netip.Addr{deafAddr}
		}
	}
	return []netip.Addr{t.addr()}
}

// reboundName is a name of the site's that leads elsewhere.
func reboundName(t probeTarget) string {
	return fmt.Sprintf("r%d.%s.%s", t.n, letter(t.phase), siteHost)
}

func (s *site) rebound(name string) (probeTarget, string, bool) {
	for i, p := range s.plan {
		for _, ph := range []phase{control, sealed} {
			if t := (probeTarget{p.place, i, ph}); strings.HasPrefix(p.how, "rebind") && reboundName(t) == name {
				return t, p.how, true
			}
		}
	}
	return probeTarget{}, "", false
}

// allow is the allowlist of the sealed run: the site, and the ports to which
// names of it rebind.
func (s *site) allow() []string {
	list := []string{siteHost, "*." + siteHost}
	for i, p := range s.plan {
		if strings.HasPrefix(p.how, "rebind") {
			t := probeTarget{p.place, i, sealed}
			list = append(list, fmt.Sprintf("%s:%d", reboundName(t), t.ownPort()))
		}
	}
	return list
}

// expected says whether the service itself may ask for a name or an address.
func (s *site) expectedName(name string) bool {
	return name == siteHost || strings.HasSuffix(name, "."+siteHost)
}

func (s *site) expectedAddr(a netip.AddrPort) bool {
	return slices.Contains([]netip.Addr{siteAddr, aiaAddr, deafAddr}, a.Addr())
}

// attempt is what a page is told to do.
type attempt struct {
	How string `json:"how"`
	To  string `json:"to"`
}

// attempts of one page.
func (s *site) attempts(ph phase, secure bool) []attempt {
	var all []attempt
	for i, p := range s.plan {
		t := probeTarget{p.place, i, ph}
		if p.from != "page" || p.secure != secure || p.place == "" {
			continue
		}
		a := attempt{How: p.how}
		switch {
		case p.how == "stun" || p.how == "stun-blank-frame" || p.how == "ice-check":
			a.To = t.hostPort(3478)
		case strings.HasPrefix(p.how, "rebind"):
			a.To = fmt.Sprintf("http://%s:%d/", reboundName(t), t.ownPort())
		case p.how == "aia":
			a.To = "https://" + letter(ph) + "." + aiaHost + "/"
		case p.how == "redirect":
			a.To = "/" + letter(ph) + "/redirect?to=" + url.QueryEscape(t.url("http"))
		case p.how == "file":
			a.To = fileURL(i, ph)
		case secure:
			a.To = t.url("https")
		default:
			a.To = t.url("http")
		}
		all = append(all, a)
	}
	// What takes longest goes first.
	slow := func(a attempt) int {
		if strings.HasPrefix(a.How, "stun") || strings.HasPrefix(a.How, "ice") || strings.HasPrefix(a.How, "turn") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b attempt) int { return slow(a) - slow(b) })
	return all
}

// fileURL is a page on disk that calls out.
func fileURL(n int, ph phase) string {
	return fmt.Sprintf("file://%s/%s%d.html", workFolder, letter(ph), n)
}

// callsOut is a page that calls out as soon as it is opened.
func callsOut(t probeTarget) string {
	return "<!doctype html><p>a page</p><script>fetch(" + string(must(json.Marshal(t.url("http")))) + ", { mode: 'no-cors' })</script>"
}

func must[T any](v T, err error) T {
	if err != nil {
		panic("sealprobe: " + err.Error()) // of values that always marshal
	}
	return v
}

// ServeHTTP serves the site, and answers everywhere else as an open server
// would, so that the control gets as far as it can.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Private-Network", "true")
	path, isSite := strings.CutPrefix(r.URL.Path, "/c/")
	ph := control
	if !isSite {
		path, isSite = strings.CutPrefix(r.URL.Path, "/s/")
		ph = sealed
	}
	if r.Host != siteHost || !isSite {
		switch {
		case r.URL.Path == "/vectors.js":
			script(w, vectors.Script)
		case r.URL.Path == "/attempts.js":
			script(w, attemptsJS)
		case r.URL.Path == "/hostile-worker.js":
			script(w, "fetch("+string(must(json.Marshal(r.URL.Query().Get("to"))))+", { mode: 'no-cors' })")
		default:
			fmt.Fprintln(w, "reached")
		}
		return
	}
	q := r.URL.Query()
	switch path {
	case "page":
		s.page(w, ph, r.TLS != nil)
	case "redirect":
		http.Redirect(w, r, q.Get("to"), http.StatusFound)
	case "refresh":
		html(w, fmt.Sprintf(`<!doctype html><meta http-equiv="refresh" content="0; url=%s"><p>leaving`, template.HTMLEscapeString(q.Get("to"))))
	case "location":
		html(w, "<!doctype html><p>leaving<script>location.href = "+string(must(json.Marshal(q.Get("to"))))+"</script>")
	case "hold":
		s.hold(w, r, letter(ph)+q.Get("page"))
	case "made":
		s.mark(s.made, letter(ph)+q.Get("page"))
	case "done":
		s.mark(s.done, letter(ph)+q.Get("page"))
	default:
		fmt.Fprintln(w, "the site")
	}
}

func script(w http.ResponseWriter, js string) {
	w.Header().Set("Content-Type", "text/javascript")
	fmt.Fprint(w, js)
}

func html(w http.ResponseWriter, page string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprint(w, page)
}

func (s *site) mark(m map[string]bool, page string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m[page] = true
}

func (s *site) marked(m map[string]bool, page string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return m[page]
}

// hold is a deferred script of the page: it keeps the document from being ready
// while the attempts take their course. It answers byte after byte, so that
// nobody takes it for silent.
func (s *site) hold(w http.ResponseWriter, r *http.Request, page string) {
	w.Header().Set("Content-Type", "text/javascript")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	start, extended := time.Now(), false
	for end := start.Add(holdMost); time.Now().Before(end); {
		if !extended && s.marked(s.made, page) {
			end, extended = time.Now().Add(after(time.Since(start))), true
		}
		fmt.Fprint(w, ";")
		http.NewResponseController(w).Flush()
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// page is the one that tries everything.
func (s *site) page(w http.ResponseWriter, ph phase, secure bool) {
	to := func(how, scheme string) string {
		i := slices.IndexFunc(s.plan, func(p probe) bool { return p.how == how })
		return probeTarget{byName, i, ph}.url(scheme)
	}
	if secure {
		_, altHost, _ := strings.Cut(strings.TrimSuffix(to("alt-svc", "https"), "/"), "//")
		w.Header().Set("Alt-Svc", fmt.Sprintf(`h3="%s:443"; ma=60`, altHost))
		w.Header().Set("Reporting-Endpoints", fmt.Sprintf("default=%q", to("reporting", "https")))
		w.Header().Set("Content-Security-Policy-Report-Only", "img-src 'none'; report-to default")
		w.Header().Set("Report-To", fmt.Sprintf(`{"group":"nel","max_age":60,"endpoints":[{"url":%q}]}`, to("network-log", "https")))
		w.Header().Set("NEL", `{"report_to":"nel","max_age":60,"success_fraction":1.0}`)
	} else {
		w.Header().Add("Link", fmt.Sprintf("<%s>; rel=preload; as=image", to("header-preload", "http")))
		w.Header().Add("Link", fmt.Sprintf("<%s>; rel=preconnect", to("header-preconnect", "http")))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	pageTemplate.Execute(w, struct {
		Attempts []attempt
		Phase    string
		Secure   bool
	}{s.attempts(ph, secure), letter(ph), secure})
}

// tried reports whether a page has made all its attempts.
func (s *site) tried(ph phase, secure bool) bool {
	return s.marked(s.made, letter(ph)+fmt.Sprint(secure))
}

// ended reports whether a page of the control has come to its end.
func (s *site) ended(ph phase, secure bool) bool {
	return s.marked(s.done, letter(ph)+fmt.Sprint(secure))
}
