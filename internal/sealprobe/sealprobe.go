// Package sealprobe tries to get out of the seal, for real, and reports what
// got out.
//
// It runs in a network from which nothing leaves this machine (package netns):
// metadata services, this machine's addresses, name servers, STUN and TURN
// servers and the public internet are sentinels there, as are a few files,
// sockets and a process. Pages in a browser, and a program beside it, try to
// reach them: first unsealed, which is the control, then sealed as bellglass
// would be here. What a page or a program says is not believed: the verdict on
// a probe is what a sentinel saw, and a probe whose control did not get out
// proves nothing and says so.
//
// It judges nothing by itself, and knows nothing of how the seal is made.
package sealprobe

import (
	"errors"
	"time"

	"github.com/bellglass/bellglass/internal/chrome"
)

// Options of one run.
type Options struct {
	Binary chrome.Binary
	// Seal is the level to probe, in the words of bellglass.Options.Seal; if
	// empty, what would be used here. [Off] runs the control only.
	Seal string
	// NativesOnly leaves out the browser, for tests of what holds a program
	// that obeys nothing.
	NativesOnly bool
	// Progress, if not nil, is told what is going on.
	Progress func(string)
}

// Off is no seal at all.
const Off = "off"

// Verdict on a probe.
type Verdict string

const (
	Held Verdict = "held" // the control got out, this did not
	Leak Verdict = "leak" // it got out
	// NotObservable: neither got out, which proves nothing.
	NotObservable Verdict = "not_observable"
)

// Seen is what a sentinel saw of one probe at one place.
type Seen struct {
	// Where is the protocol and the address, or the file, socket or process.
	Where string `json:"where"`
	// What is what the first bytes look like.
	What string `json:"what,omitempty"`
	// Packets is how many there were, of the network only.
	Packets int `json:"packets,omitempty"`
	// Bytes are the first ones, in hexadecimal.
	Bytes string `json:"bytes,omitempty"`
}

// Result of one probe.
type Result struct {
	ID      string  `json:"id"`    // such as "page/fetch loopback4"
	From    string  `json:"from"`  // "page", "url", "browser" or "native"
	Tried   string  `json:"tried"` // in words
	Verdict Verdict `json:"verdict"`
	// Layer is what stopped it: the proxy's reason if the proxy saw it, the
	// kernel's answer to a native probe, else what is meant to stop it.
	Layer   string `json:"layer,omitempty"`
	Sealed  []Seen `json:"sealed"`  // what the sentinel saw
	Control []Seen `json:"control"` // what it saw without the seal
}

// Report of one run.
type Report struct {
	Seal    string   `json:"seal"`    // the level that was probed
	Browser string   `json:"browser"` // product and version
	Results []Result `json:"results"`

	Held          int `json:"held"`
	Leaks         int `json:"leaks"`
	NotObservable int `json:"not_observable"`

	// OK is whether nothing got out and the probes could be made.
	OK     bool  `json:"ok"`
	TookMS int64 `json:"took_ms"`
	// Trouble is what kept probes from being made.
	Trouble []string `json:"trouble,omitempty"`
}

// sum counts the verdicts.
func (r *Report) sum(start time.Time) {
	for _, x := range r.Results {
		switch x.Verdict {
		case Held:
			r.Held++
		case Leak:
			r.Leaks++
		default:
			r.NotObservable++
		}
	}
	// With nothing observed there is nothing that held.
	r.OK = r.Leaks == 0 && len(r.Trouble) == 0 && (r.Held > 0 || r.Seal == Off)
	r.TookMS = time.Since(start).Milliseconds()
}

// ErrOutside is returned where the probes would not be in a lab.
var ErrOutside = errors.New("sealprobe: outside the lab nothing is probed: what leaks would leave this machine")
