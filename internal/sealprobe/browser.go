package sealprobe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	cdpt "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/policy"
)

// flags make a browser accept the certificates of the lab.
func (r *run) flags() []string {
	return []string{"--ignore-certificate-errors-spki-list=" + r.site.spki}
}

// urls are the URL probes of a phase, by number.
func (r *run) urls(ph phase) map[int]string {
	out := map[int]string{}
	for n, p := range r.plan {
		if p.from != "url" {
			continue
		}
		t := targetOf(p, n, ph)
		to := t.url("http")
		switch p.how {
		case "open":
			out[n] = to
		case "file":
			out[n] = fileURL(n, ph)
		case "data":
			out[n] = "data:text/html," + url.PathEscape(callsOut(t))
		case "view-source":
			out[n] = "view-source:" + to
		case "javascript":
			out[n] = "javascript:void fetch(" + string(must(json.Marshal(to))) + ",{mode:'no-cors'})"
		case "chrome":
			out[n] = "chrome://version/"
		default: // redirect, refresh, location
			out[n] = "http://" + siteHost + "/" + letter(ph) + "/" + p.how + "?to=" + url.QueryEscape(to)
		}
	}
	return out
}

func targetOf(p probe, n int, ph phase) probeTarget { return probeTarget{p.place, n, ph} }

// pageURL is the page that tries everything.
func pageURL(ph phase, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	return scheme + "://" + siteHost + "/" + letter(ph) + "/page"
}

// controlTimeout bounds the pages of the control; they take five seconds on a
// machine that has nothing else to do.
const controlTimeout = time.Minute

// unsealedPages opens all pages in a browser without switches, proxy and jail.
func (r *run) unsealedPages(ctx context.Context) error {
	p, err := chrome.Start(ctx, chrome.Options{
		Binary: r.o.Binary, UnsafeNoSeal: true,
		// The last list counts: speculation rules and FedCM are on again.
		UnsafeFlags: append(r.flags(), "--disable-features=SpareRendererForSitePerProcess"),
	})
	if err != nil {
		return err
	}
	defer p.Close()
	r.report.Browser = p.Product
	open := func(url string) {
		_, err := cdpt.Call(ctx, p.Browser, target.CreateTarget, target.CreateTargetParams{URL: url})
		if err != nil {
			r.wrong("the control could not open %s: %v", url, err)
		}
	}
	open(pageURL(control, false))
	open(pageURL(control, true))
	for _, u := range r.urls(control) {
		open(u)
	}
	end := time.Now().Add(controlTimeout)
	for !r.site.ended(control, false) || !r.site.ended(control, true) {
		if time.Now().After(end) {
			r.wrong("the pages of the control did not come to their end within %v", controlTimeout)
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-p.Exited():
			return fmt.Errorf("the browser of the control ended by itself")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// urlsAtOnce is how many URLs are opened beside the two pages that try
// everything.
const urlsAtOnce = 2

// sealedPages reads all pages as bellglass does.
func (r *run) sealedPages(ctx context.Context) error {
	urls := r.urls(sealed)
	b, err := bellglass.New(bellglass.Options{
		BrowserBin: r.o.Binary.Path, Seal: bellglass.SealLevel(r.o.Seal),
		Mode: policy.ModeAllowlist, Allow: r.site.allow(), MaxPages: 2 + urlsAtOnce,
		CallTimeout: 2 * controlTimeout, NavigationTimeout: controlTimeout, // for a machine under load
		HostRate: -1, IgnoreRobots: true, // all of its internet is the probes'
		OnConnection: r.event, UnsafeBrowserFlags: r.flags(),
	})
	if err != nil {
		return err
	}
	defer b.Close()
	level, _, err := b.Seal(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.report.Seal = string(level)
	r.mu.Unlock()
	if err := b.Start(ctx); err != nil {
		return err
	}
	browse := func(u string) (bellglass.Result, error) {
		return b.Browse(ctx, bellglass.Request{Principal: bellglass.Principal{Tenant: "local", Run: "doctor"}, URL: u})
	}
	var wg sync.WaitGroup
	for _, secure := range []bool{false, true} {
		wg.Go(func() {
			res, err := browse(pageURL(sealed, secure))
			if err != nil || res.Status != bellglass.StatusOK || !strings.Contains(res.Text, "probing finished") {
				r.wrong("the sealed page %s was not read to its end: %s %s %v", pageURL(sealed, secure), res.Status, res.Reason, err)
			} else if !r.site.tried(sealed, secure) {
				r.wrong("the sealed page %s ended before it had made its attempts", pageURL(sealed, secure))
			}
		})
	}
	turn := make(chan struct{}, urlsAtOnce)
	for n, u := range urls {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			res, err := browse(u)
			if err != nil {
				r.wrong("the URL %s could not be tried: %v", u, err)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if _, seen := r.layers[n]; !seen && res.Reason != "" {
				r.layers[n] = r.plan[n].means + ": " + string(res.Reason)
			}
		})
	}
	wg.Wait()
	return nil
}

// probeOf finds the probe that a request to the proxy belongs to.
func (r *run) probeOf(host string, port uint16) (int, bool) {
	if ph, n, ok := ofName(host); ok && ph == sealed {
		return n, true
	}
	if t, _, ok := r.site.rebound(host); ok && t.phase == sealed {
		return t.n, true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		ip = netip.IPv4Unspecified() // a name such as p1.localhost: its port tells
	}
	ph, n, ok := ofAddr(netip.AddrPortFrom(ip, port))
	return n, ok && ph == sealed
}

// resolveQuietly is what the site's names resolve to, without counting.
func (s *site) resolveQuietly(host string) []netip.Addr {
	if t, how, ok := s.rebound(host); ok {
		if how == "rebind-later" || how == "rebind-both" {
			return []netip.Addr{deafAddr}
		}
		return []netip.Addr{t.addr()}
	}
	if s.expectedName(host) {
		return s.resolve(host)
	}
	return nil
}
