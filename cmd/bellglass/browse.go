package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/policy"
	"github.com/bellglass/bellglass/tools"
)

// reach is what decides what a read may reach and how it reads; all commands
// that read have it.
type reach struct {
	Engine           string        `help:"What reads pages: browser (Chromium), http (the document alone, nothing run), or auto (the document, and Chromium if it needs its scripts)." enum:"browser,http,auto" default:"browser" env:"BELLGLASS_ENGINE"`
	Mode             string        `help:"What may be reached: any public host, only listed ones (allowlist), or none (deny). Unless set, public; with mcp --profile act, allowlist." enum:",public,allowlist,deny" default:"" placeholder:"MODE" env:"BELLGLASS_MODE"`
	Allow            []string      `help:"Host that may be opened: example.com, *.example.com (below it), .example.com (both), each with :port if not the default. Repeatable." placeholder:"HOST" env:"BELLGLASS_ALLOW"`
	Resources        []string      `help:"Further host that pages may load from. Repeatable." placeholder:"HOST" env:"BELLGLASS_RESOURCES"`
	RequireHTTPS     bool          `help:"Refuse plain http." name:"require-https" env:"BELLGLASS_REQUIRE_HTTPS"`
	UnsafeAllow      []string      `help:"Exact address:port that is otherwise refused, such as 127.0.0.1:8080. The only way to loopback; for development. Repeatable." placeholder:"ADDR:PORT" env:"BELLGLASS_UNSAFE_ALLOW"`
	AllowPrivateCIDR []string      `help:"Private range that listed hosts may have, such as 10.1.0.0/16. Repeatable." name:"allow-private-cidr" placeholder:"CIDR" env:"BELLGLASS_ALLOWED_PRIVATE_CIDRS"`
	Observe          bool          `help:"With --mode allowlist: let pages load from any public host, and say which of them the lists lack." env:"BELLGLASS_OBSERVE"`
	IgnoreRobots     bool          `help:"Read pages that a site's robots.txt asks programs not to read." env:"BELLGLASS_IGNORE_ROBOTS"`
	HostRate         int           `help:"Reads of one host in a minute; one more is busy. -1: no limit." default:"120" placeholder:"N" env:"BELLGLASS_HOST_RATE"`
	CAFile           string        `help:"File of authorities in PEM, such as a company's, that the browser trusts beside its own." name:"ca-file" placeholder:"FILE" env:"BELLGLASS_CA_FILE"`
	Cache            time.Duration `help:"How long a page that was read is kept for who read it, so that going on costs no visit. 0s keeps nothing." default:"5m" env:"BELLGLASS_CACHE"`
	Timeout          time.Duration `help:"Longest time for one read." default:"25s" env:"BELLGLASS_TIMEOUT"`
	sealing
	upstream `group:"Another proxy:"`
}

// sealing is how the browser is to be held to its proxy.
type sealing struct {
	Seal        string `help:"How the browser is held to its proxy: kernel (namespaces of its own), landlock, proxy-only, or the best of these that works here." enum:"auto,kernel,landlock,proxy-only" default:"auto" env:"BELLGLASS_SEAL"`
	RequireSeal string `help:"Refuse to start below this level: kernel or landlock." name:"require-seal" enum:",kernel,landlock,proxy-only" default:"" placeholder:"LEVEL" env:"BELLGLASS_REQUIRE_SEAL"`
}

// upstream is another proxy that makes the connections. Its credentials have no
// flag of their own, which every user of the machine could read.
type upstream struct {
	Upstream    string `help:"Proxy that makes the connections: gateway://HOST:PORT is another bellglass egress proxy, http:// or https:// anybody's." name:"upstream" placeholder:"URL" env:"BELLGLASS_UPSTREAM"`
	CA          string `help:"Authorities that vouch for it, in PEM." name:"upstream-ca" placeholder:"FILE" env:"BELLGLASS_UPSTREAM_CA"`
	Cert        string `help:"Certificate that a gateway knows us by, in PEM." name:"upstream-cert" placeholder:"FILE" env:"BELLGLASS_UPSTREAM_CERT"`
	Key         string `help:"Its key, in PEM." name:"upstream-key" placeholder:"FILE" env:"BELLGLASS_UPSTREAM_KEY"`
	ServerName  string `help:"Name in the proxy's certificate, if not the host of the URL." name:"upstream-server-name" placeholder:"NAME" env:"BELLGLASS_UPSTREAM_SERVER_NAME"`
	Credentials string `help:"File whose first line is user:password, for a forward proxy. BELLGLASS_UPSTREAM_CREDENTIALS may hold the same." name:"upstream-credentials-file" placeholder:"FILE" env:"BELLGLASS_UPSTREAM_CREDENTIALS_FILE"`
}

func (u upstream) config() egress.UpstreamConfig {
	return egress.UpstreamConfig{
		URL: u.Upstream, CAFile: u.CA, CertFile: u.Cert, KeyFile: u.Key, ServerName: u.ServerName,
		CredentialsFile: u.Credentials, Credentials: egress.Secret(os.Getenv("BELLGLASS_UPSTREAM_CREDENTIALS")),
	}
}

func (r reach) options(e *env) bellglass.Options {
	if r.Cache == 0 {
		r.Cache = -1
	}
	return bellglass.Options{
		Engine: bellglass.Engine(r.Engine), IgnoreRobots: r.IgnoreRobots, HostRate: r.HostRate,
		Mode: policy.Mode(r.Mode), Allow: r.Allow, Resources: r.Resources, RequireHTTPS: r.RequireHTTPS,
		UnsafeAllow: r.UnsafeAllow, AllowedPrivateCIDRs: r.AllowPrivateCIDR,
		Seal: bellglass.SealLevel(r.Seal), RequireSeal: bellglass.SealLevel(r.RequireSeal),
		Observe: r.Observe, Upstream: r.upstream.config(), CAFile: r.CAFile, CallTimeout: r.Timeout, CacheTTL: r.Cache, Logger: e.log,
	}
}

// many is what a server may have open at one time.
type many struct {
	MaxPages    int           `help:"Pages that may be open at one time. 0: as many as memory and processors allow, see doctor." name:"max-pages" default:"0" placeholder:"N" env:"BELLGLASS_MAX_PAGES"`
	Queue       time.Duration `help:"How long a call may wait for a page, within its timeout. 0s: what cannot be had at once is busy." default:"0s" env:"BELLGLASS_QUEUE"`
	MemoryLimit int64         `help:"MiB that a browser may use before it is ended. 0: 1024, and 512 more for each page, up to three quarters of the memory." name:"memory-limit" default:"0" placeholder:"MIB" env:"BELLGLASS_MEMORY_LIMIT"`
}

func (m many) apply(o *bellglass.Options) {
	o.MaxPages, o.QueueTimeout, o.MemoryLimit = m.MaxPages, m.Queue, m.MemoryLimit<<20
}

// onePage is for commands that read once.
func onePage(o *bellglass.Options) { o.MaxPages = 1 }

// open makes a browser; a mistake in the options is one of usage.
func (r reach) open(e *env, change func(*bellglass.Options)) (*bellglass.Browser, error) {
	if r.Timeout <= 0 {
		fmt.Fprintln(e.stderr, "bellglass: --timeout must be more than nothing, such as 25s")
		return nil, exitCode(exitUsage)
	}
	o := r.options(e)
	change(&o)
	b, err := bellglass.New(o)
	if unsealed := (*bellglass.Error)(nil); errors.As(err, &unsealed) {
		return nil, err
	}
	if err != nil {
		fmt.Fprintln(e.stderr, err)
		return nil, exitCode(exitUsage)
	}
	return b, nil
}

// page is the arguments of browse and links.
type page struct {
	URL    string `arg:"" help:"Absolute http or https URL." env:"-"`
	Query  string `help:"Only what matches these words." short:"q"`
	Offset int    `help:"Continue at the next_offset of the last result."`
	JSON   bool   `help:"Print the whole result as JSON." name:"json"`
	Quiet  bool   `help:"Print no summary on stderr."`
	Fail   bool   `help:"Exit with 1 if the site answers 4xx or 5xx."`
	Tenant string `help:"On whose behalf." default:"local" env:"BELLGLASS_TENANT"`
	Trace  bool   `help:"Say on stderr which part took how long; with --json, in its field trace."`
	reach
}

func (p page) request(whole bool) bellglass.Request {
	return bellglass.Request{
		Principal: bellglass.Principal{Tenant: p.Tenant, Run: newRun()},
		URL:       p.URL, Query: p.Query, Offset: p.Offset, Whole: whole,
	}
}

// trace has the browser tell its spans, if that was asked for.
func (p page) trace(t *trace) func(*bellglass.Options) {
	if p.Trace {
		return t.onto
	}
	return onePage
}

// traced shows them.
func (p page) traced(e *env, r tools.Result, t *trace) {
	switch {
	case p.Trace && p.JSON:
		r.Fields["trace"] = t.list()
	case p.Trace:
		t.print(e.stderr)
	}
}

// onBehalf checks the tenant's name.
func onBehalf(e *env, tenant string) error {
	if strings.TrimSpace(tenant) == "" {
		fmt.Fprintln(e.stderr, "bellglass: --tenant must not be empty; leave it out for \"local\"")
		return exitCode(exitUsage)
	}
	return nil
}

// newRun names one connection or call.
func newRun() string { return rand.Text() }

type browseCmd struct {
	page
	Whole      bool `help:"The whole page, not only its main part."`
	ShowHidden bool `help:"Also show what was left out because nobody could see it: quoted on stderr, or as untrusted_hidden_text in --json. Never give it to a model." name:"show-hidden"`
}

func (c *browseCmd) Run(e *env) error {
	if err := onBehalf(e, c.Tenant); err != nil {
		return err
	}
	var t trace
	b, err := c.open(e, c.trace(&t))
	if err != nil {
		return err
	}
	defer b.Close()
	done := progress(e.stderr, "reading "+c.URL)
	q := c.request(c.Whole)
	q.ShowHidden = c.ShowHidden
	res, err := b.Browse(e.ctx, q)
	done()
	if err != nil {
		return err
	}
	r := tools.RenderPage(res)
	r.Fields["untrusted_page_text"] = res.Text
	more := fmt.Sprintf("%d of %d characters", len([]rune(res.Text)), res.TotalChars)
	if c.ShowHidden {
		r.Fields["untrusted_hidden_text"] = append([]string{}, res.Hidden...)
		if !c.JSON {
			defer showHidden(e.stderr, res)
		}
	}
	c.traced(e, r, &t)
	return c.answer(e, res.Head, r, res.Text, more)
}

// showHidden lists what was left out of a page, each stretch quoted on one line
// of its own, so that none can pass for another or for the text of the page.
func showHidden(w io.Writer, res bellglass.Result) {
	switch {
	case res.HiddenUnknown:
		fmt.Fprintln(w, "bellglass: hidden: not known, for nothing was laid out; --engine browser tells")
		return
	case res.HiddenBlocks == 0 && res.Status == bellglass.StatusOK:
		fmt.Fprintln(w, "bellglass: hidden: nothing was left out")
	}
	shown := 0
	for i, s := range res.Hidden {
		fmt.Fprintf(w, "bellglass: hidden %d: %s\n", i+1, strconv.Quote(s))
		shown++
	}
	if n := res.HiddenBlocks - shown; n > 0 {
		fmt.Fprintf(w, "bellglass: hidden: %d more\n", n)
	}
}

type linksCmd struct{ page }

// What would end a link's text or its target in Markdown.
var (
	linkText = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)
	linkURL  = strings.NewReplacer("(", "%28", ")", "%29")
)

func (c *linksCmd) Run(e *env) error {
	if err := onBehalf(e, c.Tenant); err != nil {
		return err
	}
	var t trace
	b, err := c.open(e, c.trace(&t))
	if err != nil {
		return err
	}
	defer b.Close()
	done := progress(e.stderr, "reading "+c.URL)
	res, err := b.Links(e.ctx, c.request(false))
	done()
	if err != nil {
		return err
	}
	var text strings.Builder
	links := []map[string]string{}
	for _, l := range res.Links {
		fmt.Fprintf(&text, "- [%s](%s)\n", linkText.Replace(l.Text), linkURL.Replace(l.URL))
		links = append(links, map[string]string{"text": l.Text, "url": l.URL})
	}
	r := tools.RenderLinks(res)
	r.Fields["untrusted_links"] = links
	c.traced(e, r, &t)
	return c.answer(e, res.Head, r, text.String(), fmt.Sprintf("%d of %d links", len(res.Links), res.Total))
}

// answer prints a result and turns its status into the exit code.
func (p page) answer(e *env, h bellglass.Head, r tools.Result, text, more string) error {
	if p.Observe {
		r.Fields["observed_hosts"] = append([]string{}, h.Needed...)
	}
	if p.JSON {
		out := json.NewEncoder(e.stdout)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		if err := out.Encode(r.Fields); err != nil {
			return err
		}
	} else if text != "" {
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := io.WriteString(e.stdout, text); err != nil {
			return err
		}
	}
	if !p.Quiet && !p.JSON {
		summary(e.stderr, h, more)
	}
	code := codeOf(h.Status)
	if code == exitOK && p.Fail && h.HTTPStatus >= 400 {
		code = exitError
	}
	if code != exitOK {
		return exitCode(code)
	}
	return nil
}

// summary says in a line or two what came of it.
func summary(w io.Writer, h bellglass.Head, more string) {
	if h.Status != bellglass.StatusOK {
		fmt.Fprintf(w, "bellglass: %s: %s: %s\n", h.Status, h.Reason, h.Hint)
		if h.Err != nil && h.Status == bellglass.StatusError && h.Err.Err != nil {
			fmt.Fprintf(w, "bellglass: cause: %v\n", h.Err.Err)
		}
	}
	if len(h.Needed) > 0 {
		fmt.Fprintf(w, "bellglass: the lists lack: --resources %s\n", strings.Join(h.Needed, ","))
	}
	if h.FinalURL == "" {
		return
	}
	var parts []string
	if h.HTTPStatus != 0 {
		parts = append(parts, fmt.Sprintf("HTTP %d", h.HTTPStatus))
	}
	if h.Status == bellglass.StatusOK {
		parts = append(parts, more)
	}
	if h.NextOffset > 0 {
		parts = append(parts, fmt.Sprintf("--offset %d for more", h.NextOffset))
	}
	if h.HiddenBlocks > 0 {
		parts = append(parts, fmt.Sprintf("%s in %s left out", count(h.HiddenChars, "character"), count(h.HiddenBlocks, "hidden block")))
	}
	if len(h.Signals) > 0 {
		parts = append(parts, strings.Join(h.Signals, ", "))
	}
	n := 0
	for _, b := range h.Blocked {
		n += b.Count
	}
	if n > 0 {
		parts = append(parts, count(n, "request")+" refused")
	}
	fmt.Fprintf(w, "bellglass: %s · %s\n", h.FinalURL, strings.Join(parts, " · "))
}

// progress shows on a terminal that something is going on, until done is
// called.
func progress(w io.Writer, what string) (done func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func() {}
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && len(what) > width-10 && width > 20 {
		what = what[:width-10]
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(stopped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(f, "\r%s %.1fs", what, time.Since(start).Seconds())
			case <-stop:
				fmt.Fprint(f, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(stop); <-stopped }
}
