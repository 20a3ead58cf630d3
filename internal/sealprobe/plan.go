package sealprobe

import (
	"fmt"
)

// probe is one way to try.
type probe struct {
	from  string // "page", "url", "browser" or "native"
	how   string // the vector, the kind of URL, or the operation
	place place
	// secure asks for the page that came over https.
	secure bool
	// path is put behind the URL.
	path string
	// means says what is meant to stop it, where the proxy never sees it.
	means string
	// arg is for native probes: a path, a name.
	arg string
	// words replaces the usual description.
	words string
}

func (p probe) id() string {
	s := p.from + "/" + p.how
	if p.place != "" && p.place != byName {
		s += " " + string(p.place)
	}
	if p.arg != "" {
		s += " " + p.arg
	}
	return s
}

// said are the places in words.
var said = map[place]string{
	byName: "a public host", public4: "a public address", public6: "a public IPv6 address",
	loopback4: "loopback", loopback6: "IPv6 loopback", localhost: "a name below .localhost",
	interface4: "this machine's address", interface6: "this machine's IPv6 address",
	metadata4: "the metadata address", metadata6: "the IPv6 metadata address",
	link4: "a link-local address", link6: "a link-local IPv6 address",
	private4: "a private address", private6: "a private IPv6 address", group4: "a multicast group", loopnet4: "loopback",
}

func (p probe) tried() string {
	if p.words != "" {
		return p.words
	}
	s := p.how
	if p.arg != "" {
		s += " " + p.arg
	}
	if p.place != "" {
		s += " → " + said[p.place]
	}
	return s
}

// What is meant to stop what the proxy never sees.
const (
	bySwitch    = "the browser's switches"
	byIntercept = "interception"
	byBrowser   = "the browser itself"
	byPolicy    = "URL policy"
)

// plan is every probe of a run; the index is its number.
func plan(ipv6 bool) []probe {
	var all []probe
	add := func(ps ...probe) {
		for _, p := range ps {
			if ip, ok := fixed[p.place]; (ok && ip.Is6() || p.place == public6) && !ipv6 {
				continue
			}
			all = append(all, p)
		}
	}
	add(pageProbes()...)
	add(urlProbes()...)
	add(
		probe{from: "browser", how: "multicast", words: "multicast DNS and joins of its groups", means: bySwitch},
		probe{from: "browser", how: "anything else", words: "anything that no probe asked for", means: "the proxy"},
	)
	add(nativeProbes()...)
	if len(all) > maxProbes {
		panic(fmt.Sprintf("sealprobe: %d probes, more than addresses", len(all)))
	}
	return all
}

// pageProbes are those of the table of vectors.
func pageProbes() []probe {
	var all []probe
	from := func(secure bool, means string, hows ...string) {
		for _, how := range hows {
			all = append(all, probe{from: "page", how: how, place: byName, secure: secure, means: means})
		}
	}
	from(false, "the proxy", "fetch", "fetch-post", "fetch-keepalive", "xhr", "beacon", "ping", "object", "embed", "script", "module",
		"stylesheet", "css-import", "svg-use", "iframe", "frame-refresh", "form", "event-source", "websocket", "modulepreload", "preconnect",
		"prefetch", "worker-fetch", "worker-import", "worker-nested", "worker-shared", "worker-socket", "csp-report", "track", "download", "manifest")
	from(false, byIntercept, "img", "img-srcset", "frame-base", "video", "audio", "video-poster", "css-url", "css-font", "css-cursor",
		"svg-image", "preload", "icon", "open", "open-noopener", "attribution")
	from(false, byBrowser, "dns-prefetch")
	from(false, bySwitch, "turn-udp", "turn-tcp", "turns")
	from(true, "the proxy", "worklet", "audio-worklet", "fetch-later", "dictionary", "payment", "webauthn")
	from(true, byIntercept, "service-worker-fetch")
	from(true, bySwitch, "webtransport", "fedcm", "prerender", "speculate-prefetch", "speculate-prerender")
	for _, p := range []place{loopback4, loopback6, localhost, interface4, interface6, metadata4, metadata6, link4, private4, private6, public4, public6} {
		all = append(all, probe{from: "page", how: "fetch", place: p, means: bySwitch})
	}
	for _, how := range []string{"websocket", "iframe", "worker-fetch"} {
		for _, p := range []place{loopback4, metadata4} {
			all = append(all, probe{from: "page", how: how, place: p, means: bySwitch})
		}
	}
	for _, p := range []place{byName, public4, public6, loopback4, interface4, metadata4} {
		all = append(all, probe{from: "page", how: "stun", place: p, means: bySwitch})
	}
	return append(all,
		probe{from: "page", how: "webtransport", place: loopback4, secure: true, means: bySwitch},
		probe{from: "page", how: "webtransport", place: public4, secure: true, means: bySwitch},
		probe{from: "page", how: "stun-blank-frame", place: public4, means: bySwitch},
		probe{from: "page", how: "ice-check", place: public4, means: bySwitch},
		probe{from: "page", how: "ice-check", place: private4, means: bySwitch},
		probe{from: "page", how: "redirect", place: metadata4, means: "the proxy", words: "fetch, redirected → the metadata address"},
		probe{from: "page", how: "redirect", place: byName, means: "the proxy", words: "fetch, redirected → a public host"},
		probe{from: "page", how: "rebind", place: loopback4, means: "the proxy", words: "fetch of a name that resolves to loopback"},
		probe{from: "page", how: "rebind", place: metadata4, means: "the proxy", words: "fetch of a name that resolves to the metadata address"},
		probe{from: "page", how: "rebind-both", place: loopback4, means: "the proxy", words: "fetch of a name with a public address and loopback"},
		probe{from: "page", how: "rebind-later", place: loopback4, means: "the proxy", words: "fetch of a name that resolves to loopback the second time"},
		probe{from: "page", how: "aia", place: byName, secure: true, path: "issuer.crt", means: "the proxy", words: "certificate of an issuer named by the server (AIA)"},
		probe{from: "page", how: "alt-svc", place: byName, secure: true, means: bySwitch, words: "QUIC to a host named by Alt-Svc"},
		probe{from: "page", how: "header-preload", place: byName, means: byIntercept, words: "preload asked for by a header"},
		probe{from: "page", how: "header-preconnect", place: byName, means: "the proxy", words: "preconnect asked for by a header"},
		probe{from: "page", how: "reporting", place: byName, secure: true, means: "the proxy", words: "reports to an endpoint named by a header"},
		probe{from: "page", how: "network-log", place: byName, secure: true, means: "the proxy", words: "network error log to a host named by a header"},
		probe{from: "page", how: "file", place: byName, means: byBrowser, words: "a local file in a frame of the page"},
	)
}

// urlProbes are addresses that a caller is fooled into opening, and pages that
// leave.
func urlProbes() []probe {
	u := func(how string, p place, means, words string) probe {
		return probe{from: "url", how: how, place: p, means: means, words: words}
	}
	return []probe{
		u("open", metadata4, byPolicy, "the metadata address, given as URL"),
		u("open", loopback4, byPolicy, "loopback, given as URL"),
		u("open", byName, byPolicy, "an unlisted host, given as URL"),
		u("file", byName, byPolicy, "file: URL of a page that calls out"),
		u("data", byName, byPolicy, "data: URL of a page that calls out"),
		u("view-source", byName, byPolicy, "view-source: URL of an unlisted host"),
		u("javascript", byName, byPolicy, "javascript: URL that calls out"),
		u("chrome", byName, byPolicy, "chrome: URL"),
		u("redirect", metadata4, "the proxy", "a page that redirects → the metadata address"),
		u("redirect", byName, "the proxy", "a page that redirects → a public host"),
		u("refresh", byName, byIntercept, "a page that refreshes → a public host"),
		u("location", metadata4, byIntercept, "a script that leaves → the metadata address"),
		u("location", byName, byIntercept, "a script that leaves → a public host"),
	}
}

// Paths at which the lab puts sentinels.
const (
	workFolder = "/srv/bellglass-work"
	homeFolder = "/home/bellglass-probe"
)

// nativeProbes are those of a program that no longer obeys.
func nativeProbes() []probe {
	var all []probe
	n := func(how string, p place, arg, words string) {
		all = append(all, probe{from: "native", how: how, place: p, arg: arg, words: words})
	}
	for _, p := range []place{loopback4, loopback6, interface4, interface6, metadata4, metadata6, link4, link6, private4, public4, public6} {
		n("tcp", p, "", "")
		n("udp", p, "", "")
	}
	n("udp", group4, "", "")
	n("proxy-port", public4, "", "tcp → a public address, at the proxy's port")
	// Ways to connect that rules on connect and on TCP may overlook.
	for _, p := range []place{loopback4, metadata4} {
		n("fastopen", p, "", "")
		n("mptcp", p, "", "")
	}
	n("dns", byName, "", "a question to the name server over UDP")
	n("resolve", byName, "", "the system's resolver")
	n("ping", public4, "", "an echo request through a ping socket")
	n("icmp", public4, "", "an echo request through a raw ICMP socket")
	n("icmp", loopnet4, "", "an echo request to loopback through a raw ICMP socket")
	n("raw-ip", public4, "", "an IP packet made by hand")
	n("frame", public4, "", "an Ethernet frame made by hand")
	n("vsock", "", "", "a connection to this machine over vsock")
	for _, path := range []string{"/run/docker.sock", "/run/dbus/system_bus_socket", "/tmp/.X11-unix/X0", homeFolder + "/agent.sock", workFolder + "/service.sock"} {
		n("unix", "", path, "")
	}
	n("abstract", "", "bellglass-probe", "an abstract unix socket")
	for _, path := range []string{homeFolder + "/secret", "/root/secret", "/run/secret", "/tmp/secret", "/mnt/secret", "/dev/shm/secret", workFolder + "/secret"} {
		n("read", "", path, "")
	}
	for _, path := range []string{"/tmp/written", homeFolder + "/written", workFolder + "/written"} {
		n("write", "", path, "")
	}
	n("environ", "", "own", "its own environment holds the service's")
	n("environ", "", "others", "the environment of other processes")
	n("ptrace", "", "", "tracing a process outside")
	n("signal", "", "", "a signal to a process outside")
	n("shm", "", "", "a System V shared memory segment")
	n("mqueue", "", "", "a POSIX message queue")
	n("keyring", "", "", "a key in this user's keyring")
	return all
}

// numbered finds a probe's number.
func numbered(all []probe, id string) int {
	for i, p := range all {
		if p.id() == id {
			return i
		}
	}
	panic("sealprobe: no probe " + id)
}
