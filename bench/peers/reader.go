package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/bench/internal/peer"
	"github.com/bellglass/bellglass/internal/chrome"
)

// reader gets a page's text, or what of it its users are shown.
type reader interface {
	name() string
	read(ctx context.Context, url string) (text string, err error)
	close() error
}

// crowd is a reader that can serve several callers.
type crowd interface {
	reader
	// many reads a page so often with so many callers, and returns what each
	// read took, and all together.
	many(ctx context.Context, url string, callers, reads int) (each []time.Duration, all time.Duration, err error)
}

// The names in the tables.
const (
	oursName  = "bellglass"
	loopName  = "loop in Playwright"
	agentName = "agent-browser"
)

// readers starts everybody who is there. Those that were started are returned
// also with an error.
func readers(ctx context.Context, addr, dir string) (all []reader, err error) {
	add := func(name string, start func() (reader, error)) {
		if err != nil || !strings.Contains(name, *only) {
			return
		}
		var r reader
		if r, err = start(); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
			return
		}
		all = append(all, r)
	}
	add(oursName, func() (reader, error) { return startOurs(ctx, addr) })
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
		add(p.name, func() (reader, error) { return p.start(ctx, lab) })
	}
	return all, err
}

// mostCallers is the largest crowd.
const mostCallers = 16

// own is bellglass, as a program uses it that links it: each read in a fresh
// context, nothing kept from the one before, the main part chosen and not cut.
type own struct{ browser *bellglass.Browser }

func startOurs(ctx context.Context, addr string) (*own, error) {
	b, err := bellglass.New(bellglass.Options{UnsafeAllow: []string{addr}, CacheTTL: -1, HostRate: -1, MaxPages: mostCallers, TextLimit: 1_000_000})
	if err != nil {
		return nil, err
	}
	if err := b.Start(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return &own{b}, nil
}

func (*own) name() string   { return oursName }
func (o *own) close() error { return o.browser.Close() }

func (o *own) read(ctx context.Context, url string) (string, error) {
	r, err := o.browser.Browse(ctx, bellglass.Request{Principal: bellglass.Principal{Tenant: "bench", Run: "peers"}, URL: url})
	if err == nil && r.Status != bellglass.StatusOK {
		err = fmt.Errorf("%s: %w", r.Reason, r.Err)
	}
	return r.Text, err
}

func (o *own) many(ctx context.Context, url string, callers, reads int) (each []time.Duration, all time.Duration, err error) {
	todo := make(chan struct{}, reads)
	for range reads {
		todo <- struct{}{}
	}
	close(todo)
	var mu sync.Mutex
	var wg sync.WaitGroup
	begun := time.Now()
	for range callers {
		wg.Go(func() {
			for range todo {
				start := time.Now()
				_, e := o.read(ctx, url)
				took := time.Since(start)
				mu.Lock()
				if each = append(each, took); e != nil {
					err = e
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return each, time.Since(begun), err
}
