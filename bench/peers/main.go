// Command peers measures reading a page: from its address to its text, beside
// a loop in Playwright as many write it, agent-browser, Playwright MCP and
// chrome-devtools-mcp, by turns, on the pages of package bench; and how many
// pages several callers get in a second, beside the loop.
//
// All of it runs in a network from which nothing leaves this machine (package
// netns): other people's browsers reach the benchmark's own server on loopback
// and nothing else.
//
// From the root of the repository: make bench-peers
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/bellglass/bellglass/internal/netns"
	"github.com/bellglass/bellglass/internal/testweb"
)

var (
	rounds = flag.Int("rounds", 15, "rounds of single reads; another one begins in each; 0 leaves them out")
	reads  = flag.Int("reads", 24, "reads of each number of callers, at least three for each caller; 0 leaves them out")
	peers  = flag.String("peers", os.Getenv("BENCH_PEERS"), "folder in which the peers were installed by npm; BENCH_PEERS unless given")
	think  = flag.Duration("think", 150*time.Millisecond, "pause before each single read, as a model makes that thinks")
	limit  = flag.Duration("for", time.Hour, "after this time nothing new is begun, and what there is is told")
	only   = flag.String("only", "", "measure only those whose names hold this")
)

// install says how to get the peers that were measured.
const install = `Peers are measured when they are installed: in an empty folder,
  npm install playwright-core@1.65.1 @playwright/mcp@0.0.83 chrome-devtools-mcp@1.11.0 agent-browser@0.41.2
and then: make bench-peers BENCH_PEERS=that/folder
`

// page is one of the pages that are measured.
type page struct {
	name, path string
	text       string // a complete text holds it
}

var pages = []page{
	{"tiny", "/tiny", "A tiny page"},
	{"late", "/late?ms=50", testweb.LateText},
	{"100 cards", testweb.Cards(100), "Product number 99"},
	{"1,000 cards", testweb.Cards(1000), "Product number 999"},
}

func main() {
	flag.Parse()
	_, code, done, err := netns.Enter(netns.Options{})
	if done {
		os.Exit(code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: no network of its own, so the peers are left out:", err)
		*peers = ""
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	addr, closeSite, err := site()
	if err != nil {
		return err
	}
	defer closeSite()
	dir, err := os.MkdirTemp("", "bellglass-bench-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := readers(ctx, addr, dir)
	defer func() {
		for _, r := range all {
			err = errors.Join(err, r.close())
		}
	}()
	if err != nil {
		return err
	}
	one := singles{}
	if err := one.fill(ctx, all, addr); err != nil && (ctx.Err() == nil || len(one) == 0) {
		return err
	}
	if *rounds > 0 {
		one.report(out, all)
	}
	if *reads == 0 {
		return nil
	}
	many := crowds{}
	if err := many.fill(ctx, all, addr); err != nil && ctx.Err() == nil {
		return err
	}
	many.report(out)
	return nil
}

// site serves the pages on loopback.
func site() (addr string, end func(), err error) {
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	s := &http.Server{Handler: testweb.Site(), ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() { defer close(served); s.Serve(ln) }()
	return ln.Addr().String(), func() { s.Close(); <-served }, nil
}

// sample is one read.
type sample struct {
	took  time.Duration
	whole bool // the complete text was there
}

// singles are the samples by reader and page, one for each round.
type singles map[string]map[string][]sample

// fill measures by turns. The first round starts browsers, and counts not.
func (s singles) fill(ctx context.Context, all []reader, addr string) error {
	for round := -1; round < *rounds; round++ {
		for _, p := range pages {
			for i := range all {
				r := all[(i+max(round, 0))%len(all)]
				if err := pause(ctx, *think); err != nil {
					return err
				}
				start := time.Now()
				text, err := r.read(ctx, "http://"+addr+p.path)
				took := time.Since(start)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", r.name(), p.name, err)
				}
				if round < 0 {
					continue
				}
				if s[r.name()] == nil {
					s[r.name()] = map[string][]sample{}
				}
				s[r.name()][p.name] = append(s[r.name()][p.name], sample{took, strings.Contains(text, p.text)})
			}
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
