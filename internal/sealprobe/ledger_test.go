package sealprobe

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/bellglass/bellglass/internal/netns"
	"github.com/bellglass/bellglass/internal/vectors"
)

// known reports whether a script has an attempt.
func known(how string) bool {
	// These are made by the headers of the page, not by a script.
	if strings.HasPrefix(how, "header-") || how == "reporting" || how == "network-log" {
		return true
	}
	return strings.Contains(vectors.Script, "'"+how+"':") || strings.Contains(attemptsJS, "'"+how+"':")
}

func question(t *testing.T, name string) []byte {
	t.Helper()
	m := dnsmessage.Message{Questions: []dnsmessage.Question{{
		Name: dnsmessage.MustNewName(name), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET,
	}}}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPacketsAreSortedByWhatTheyTouch: a packet counts for the probe that alone
// could have sent it, whenever it arrives; what nobody asked for counts, too.
func TestPacketsAreSortedByWhatTheyTouch(t *testing.T) {
	const multicast, stray = 8, 9
	packet := func(proto, to string, data []byte) netns.Packet {
		return netns.Packet{Proto: proto, Dst: netip.MustParseAddrPort(to), Data: data}
	}
	get := []byte("GET / HTTP/1.1\r\nHost: x.test\r\n\r\n")
	l := newLedger(multicast, stray)
	expected := func(p netns.Packet) bool { return p.Dst.String() == "93.184.99.1:80" }
	l.packets(sealed, []netns.Packet{
		packet("tcp", "93.184.99.1:80", nil),                                      // the service's own
		packet("arp", "192.168.77.1:0", nil),                                      // the kernel's
		packet("icmp", "10.53.0.53:0", []byte{3, 3}),                              // its answer
		packet("tcp", "93.184.102.5:80", nil),                                     // sealed, 4
		packet("tcp", "93.184.102.5:80", get),                                     // again, with bytes
		packet("icmp", "93.184.102.6:0", []byte{3, 3}),                            // sealed, 5: made by hand
		packet("tcp", "169.254.169.254:21002", nil),                               // a straggler of the control's
		packet("udp", "10.53.0.53:53", question(t, "p7.s.out.test.")),             // sealed, 7
		packet("udp", "8.8.8.8:53", question(t, "elsewhere.test.")),               // nobody's
		packet("igmp", "224.0.0.22:0", nil),                                       // multicast
		packet("udp", "203.0.113.9:9", []byte("data")),                            // nobody's
		packet("tcp", "93.184.99.2:443", nil),                                     // the site's, but not the proxy's
		packet("udp", "10.53.0.53:53", question(t, "p6.s.out.test.s.test.")),      // nobody's, below another domain
		packet("udp", "10.53.0.53:53", question(t, "p6.s.out.test.search.test.")), // sealed, 6, below the search list
	}, expected)
	l.loopback([]netns.Packet{
		packet("tcp", "127.0.0.1:40000", nil), // the proxy
		packet("tcp", "127.0.0.1:21503", nil), // sealed, 3
	})
	where := func(ph phase) map[int][]string {
		out := map[int][]string{}
		for n, all := range l.seen[ph] {
			for _, s := range all {
				out[n] = append(out[n], s.Where)
			}
		}
		return out
	}
	want := map[int][]string{
		3: {"tcp 127.0.0.1:21503"}, 4: {"tcp 93.184.102.5:80"}, 5: {"icmp 93.184.102.6"},
		6: {"dns p6.s.out.test"}, 7: {"dns p7.s.out.test"}, multicast: {"igmp 224.0.0.22"},
		stray: {"dns elsewhere.test", "udp 203.0.113.9:9", "tcp 93.184.99.2:443", "dns p6.s.out.test.s.test"},
	}
	if diff := cmp.Diff(want, where(sealed)); diff != "" {
		t.Errorf("sealed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int][]string{2: {"tcp 169.254.169.254:21002"}}, where(control)); diff != "" {
		t.Errorf("control (-want +got):\n%s", diff)
	}
	if s := l.seen[sealed][4][0]; s.Packets != 2 || s.What != "HTTP GET x.test/" {
		t.Errorf("two packets of a connection became %+v", s)
	}
}

func TestPlainTextIsQuoted(t *testing.T) {
	for in, want := range map[string]string{
		"from inside\n":          `"from inside"`,
		"GET / HTTP/1.1\r\n\r\n": "HTTP GET /",
		"\x00\x01":               "2 bytes: 0001",
		"\x1b[31mred":            "8 bytes: 1b5b33316d726564",
	} {
		if got := describe([]byte(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestTheVerdictIsWhatTheSentinelsSaw(t *testing.T) {
	saw := []Seen{{Where: "tcp 10.0.0.1:1"}}
	for _, k := range []struct {
		what             string
		seal             string
		sealed, control  []Seen
		trouble          []string
		want             Verdict
		ok               bool
		line, conclusion string
	}{
		{"held", "kernel", nil, saw, nil, Held, true, "held  fetch → a public host", "nothing got out"},
		{"leak", "kernel", saw, saw, nil, Leak, false, "LEAK  fetch → a public host", "1 probes GOT OUT"},
		{"leak that the control does not have", "kernel", saw, nil, nil, Leak, false, "LEAK  ", "1 probes GOT OUT"},
		{"nothing observed proves nothing", "kernel", nil, nil, nil, NotObservable, false, "-     fetch", "1 could not be observed"},
		{"not all probes were made", "kernel", nil, saw, []string{"the page crashed"}, Held, false, "held", "trouble: the page crashed"},
		{"off", Off, nil, saw, nil, Leak, false, "out   fetch", "1 of 1 probes got out"},
	} {
		r := run{
			o: Options{Seal: k.seal}, report: &Report{Seal: k.seal}, led: newLedger(0, 0), trouble: k.trouble,
			plan: []probe{{from: "page", how: "fetch", place: byName, means: "the proxy"}},
		}
		r.led.seen = [2]map[int][]Seen{{0: k.control}, {0: k.sealed}}
		r.finish(time.Now())
		if got := r.report.Results[0].Verdict; got != k.want || r.report.OK != k.ok {
			t.Errorf("%s: verdict %s, ok %v; want %s, %v", k.what, got, r.report.OK, k.want, k.ok)
		}
		var text bytes.Buffer
		r.report.Write(&text)
		for _, want := range []string{k.line, k.conclusion} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: %q is not in\n%s", k.what, want, &text)
			}
		}
	}
}

// TestOutsideTheLabNothingIsProbed: what leaks would leave this machine.
func TestOutsideTheLabNothingIsProbed(t *testing.T) {
	if _, err := Run(t.Context(), nil, Options{}); err != ErrOutside {
		t.Errorf("got %v", err)
	}
}
