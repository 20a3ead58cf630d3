package main

import (
	"fmt"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/demo"
)

type demoCmd struct{ sealing }

// Run reads the demo site and tells in plain words what happened. It fails if
// an escape attempt came through.
func (c demoCmd) Run(e *env) error {
	site, err := demo.Start()
	if err != nil {
		return err
	}
	defer site.Close()
	b, err := bellglass.New(bellglass.Options{UnsafeAllow: []string{site.Addr()}, MaxPages: 1,
		Seal: bellglass.SealLevel(c.Seal), RequireSeal: bellglass.SealLevel(c.RequireSeal)})
	if err != nil {
		return err
	}
	defer b.Close()
	who := bellglass.Principal{Tenant: "local", Run: newRun()}
	fmt.Fprintf(e.stdout, "A page on %s renders two seconds late, hides instructions, and tries to get out.\n"+
		"It is read through a real Chromium whose only way out is bellglass's own proxy.\n\n", site.URL())
	done := progress(e.stderr, "starting the browser")
	err = b.Start(e.ctx)
	done()
	if err != nil {
		return err
	}
	start := time.Now()
	res, err := b.Browse(e.ctx, bellglass.Request{Principal: who, URL: site.URL()})
	if err != nil {
		return err
	}
	took := time.Since(start)
	if res.Status != bellglass.StatusOK {
		summary(e.stderr, res.Head, "")
		return exitCode(codeOf(res.Status))
	}
	fmt.Fprintf(e.stdout, "What was read, in %d ms although the page waits 2 s:\n\n%s\n\n", took.Milliseconds(), indent(res.Text))
	fmt.Fprintf(e.stdout, "What was hidden: %d characters in %s that no person could see. They were left out.\n\n", res.HiddenChars, count(res.HiddenBlocks, "block"))
	return escapes(e, b, who, site, res)
}

// escapes reports the three attempts.
func escapes(e *env, b *bellglass.Browser, who bellglass.Principal, site *demo.Site, res bellglass.Result) error {
	redirect, err := b.Browse(e.ctx, bellglass.Request{Principal: who, URL: site.RedirectURL()})
	if err != nil {
		return err
	}
	failed := false
	tell := func(n int, what string, held bool, how string) {
		word := "refused"
		if !held {
			word, failed = "GOT OUT", true
		}
		fmt.Fprintf(e.stdout, "  %d. %s\n     %s: %s\n", n, what, word, how)
	}
	fmt.Fprintln(e.stdout, "Its three escape attempts:")
	tell(1, "a redirect to "+demo.Metadata, redirect.Status == bellglass.StatusRejected && redirect.Text == "",
		fmt.Sprintf("status %s, reason %s; nothing was sent there", redirect.Status, redirect.Reason))
	tried := 0
	for _, x := range res.Blocked {
		tried += x.Count
	}
	tell(2, "a fetch of "+site.CanaryURL()+", a service on this machine", site.Connections() == 0 && tried > 0,
		fmt.Sprintf("the proxy refused %s; the service saw %s", count(tried, "request"), count(site.Connections(), "connection")))
	tell(3, "a WebRTC candidate through a STUN server on this machine", site.Packets() == 0,
		fmt.Sprintf("the server saw %s", count(site.Packets(), "packet")))
	seal, why, err := b.Seal(e.ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\nSeal level: %s.\n", seal)
	for _, w := range why {
		fmt.Fprintf(e.stdout, "  not better because: %v\n", w)
	}
	if failed {
		return exitCode(exitError)
	}
	return nil
}

// count is a number with its noun: "1 block", "2 blocks".
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func indent(s string) string {
	out := []byte("    ")
	for i := range len(s) {
		out = append(out, s[i])
		if s[i] == '\n' && i+1 < len(s) && s[i+1] != '\n' {
			out = append(out, "    "...)
		}
	}
	return string(out)
}
