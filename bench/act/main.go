// Command act measures acting on a page: from an address to the first view of
// it, from a click to the new state, and from a filled field to the new state,
// in time and in tokens of what a model reads. Beside bellglass, as its MCP
// server gives it, are its own real-time clock with a rule of quiet, and
// Playwright MCP, chrome-devtools-mcp and agent-browser, each in its fastest
// mode, where they are installed.
//
// All of it runs in a network from which nothing leaves this machine (package
// netns): other people's browsers reach the benchmark's own server on loopback
// and nothing else.
//
// From the root of the repository: make bench-act
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/bellglass/bellglass/bench/internal/peer"
	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/netns"
)

var (
	rounds = flag.Int("rounds", 10, "rounds; another one begins in each")
	peers  = flag.String("peers", os.Getenv("BENCH_PEERS"), "folder in which the peers were installed by npm; BENCH_PEERS unless given")
	think  = flag.Duration("think", 150*time.Millisecond, "pause before each call, as a model makes that thinks")
	only   = flag.String("only", "", "measure only contestants whose names hold this")
	show   = flag.Bool("show", false, "print what the contestants answer in the first round")
	leave  = flag.Bool("no-lab", false, "run outside of a network of its own; without peers")
)

// install says how to get the peers that were measured.
const install = `Peers are measured when they are installed: in an empty folder,
  npm install @playwright/mcp@0.0.83 chrome-devtools-mcp@1.11.0 agent-browser@0.41.2
and then: make bench-act BENCH_PEERS=that/folder
`

func main() {
	flag.Parse()
	if !*leave {
		_, code, done, err := netns.Enter(netns.Options{})
		if done {
			os.Exit(code)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: no network of its own, so the peers are left out:", err)
			*peers = ""
		}
	} else {
		*peers = ""
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	shop, err := openShop()
	if err != nil {
		return err
	}
	defer shop.Close()
	dir, err := os.MkdirTemp("", "bellglass-bench-act-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := contestants(ctx, shop.Addr, dir)
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.close())
		}
	}()
	if err != nil {
		return err
	}
	found := results{}
	if err := found.fill(ctx, all, shop.Addr); err != nil && (ctx.Err() == nil || len(found) == 0) {
		return err
	}
	return found.report(out, all) // of what there is, when it was interrupted
}

// tries is how often one goes through the steps on a page until nothing fails:
// peers time out now and then.
const tries = 2

// fill measures by turns.
func (r results) fill(ctx context.Context, all []contestant, addr string) error {
	for round := -1; round < *rounds; round++ { // the first is for starting browsers
		for _, p := range pages {
			for i := range all {
				c := all[(i+max(round, 0))%len(all)]
				s, err := sample{}, error(nil)
				for range tries {
					s, err = session(ctx, c, addr, p)
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					if err == nil {
						break
					}
					// After the last try it is told in the table, too.
					fmt.Fprintf(os.Stderr, "bench: %s: %s: %.300v\n", c.name(), p.name, err)
					s = sample{}
				}
				if round >= 0 {
					r.add(c.name(), p.name, s)
				}
			}
		}
	}
	return nil
}

// contestants starts everybody who is there. Those that were started are
// returned also with an error.
func contestants(ctx context.Context, addr, dir string) (all []contestant, err error) {
	add := func(name string, start func() (contestant, error)) {
		if err != nil || !strings.Contains(name, *only) {
			return
		}
		var c contestant
		if c, err = start(); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			return
		}
		all = append(all, c)
	}
	for _, o := range ours {
		add(o.name, func() (contestant, error) { return startOurs(ctx, o, addr) })
	}
	if *peers == "" {
		fmt.Fprint(os.Stderr, install)
		return all, err
	}
	folder, err := filepath.Abs(*peers)
	if err != nil {
		return all, err
	}
	bin, err := chrome.Find(chrome.FindOptions{})
	if err != nil {
		return all, err
	}
	lab := peer.Lab{Folder: folder, Files: dir, Browser: bin.Path}
	for _, p := range others {
		if !lab.Has(p.program) {
			fmt.Fprintf(os.Stderr, "%s is not installed.\n%s", p.name, install)
			continue
		}
		add(p.name, func() (contestant, error) { return p.start(ctx, lab) })
	}
	return all, err
}

// sample is what one contestant took on one page, in the order of steps.
type sample [3]step

type step struct {
	took   time.Duration
	tokens int
	looks  int // that it took until the new state was there
}

// patience is how often a view is asked for again in which the new state is
// not yet there.
const patience = 200

// session goes through the steps on one page.
func session(ctx context.Context, c contestant, addr string, p page) (s sample, err error) {
	view := ""
	acts := []struct {
		do   func() (string, error)
		want string
	}{
		{func() (string, error) { return c.navigate(ctx, "http://"+addr+p.path) }, p.there},
		{func() (string, error) { return c.click(ctx, view, p.button) }, p.clicked},
		{func() (string, error) { return c.fill(ctx, view, p.field, p.text) }, p.filled},
	}
	for i, a := range acts {
		if err := pause(ctx, *think); err != nil {
			return s, err
		}
		start := time.Now()
		said, err := a.do()
		if err != nil {
			return s, err
		}
		all := said
		for s[i].looks = 1; !strings.Contains(said, a.want); s[i].looks++ {
			if s[i].looks > patience {
				return s, fmt.Errorf("step %d: no %q in %s", i+1, a.want, said)
			}
			if said, err = c.look(ctx); err != nil {
				return s, err
			}
		}
		s[i].took = time.Since(start)
		if s[i].looks > 1 { // the views between would not have to be read
			all += said
		}
		if s[i].tokens, err = tokens(all); err != nil {
			return s, err
		}
		if *show {
			fmt.Fprintf(os.Stderr, "=== %s, %s, step %d: %v, %d tokens, %d looks\n%.3000s\n", c.name(), p.name, i+1, s[i].took, s[i].tokens, s[i].looks, all)
		}
		if full := c.view(said); full != "" {
			view = full
		}
	}
	return s, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
