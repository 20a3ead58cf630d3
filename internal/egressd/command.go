package egressd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes of [Command.Execute].
const (
	ExitOK    = 0
	ExitError = 1 // could not listen, or connections had to be cut at the end
	ExitUsage = 2 // something is wrong with the configuration file
)

// Command is the command line of the proxy, for kong. It is the same for
// bellglass-egress and for bellglass egress.
type Command struct {
	Config string `arg:"" help:"Configuration file, in YAML."`
	Check  bool   `help:"Only say whether the file is good, or all that is wrong with it: exit code 0 or 2."`
}

// Help is shown by --help.
func (Command) Help() string {
	return `The smallest file that does something: whoever reaches port 3128 may go to one host.

  roles:
    readers:
      listen: 127.0.0.1:3128
      mode: allowlist
      allow: [example.com]

  $ curl --proxy http://127.0.0.1:3128 https://example.com/

All keys are explained in docs/config.md; deploy/egress.yaml is a longer example.

Signals: SIGHUP reads the file again; a bad one changes nothing and is logged.
SIGTERM and Ctrl-C let open tunnels end for as long as "drain" says; a second
one cuts them at once.

Exit codes: 0 ok, 1 error, 2 usage or configuration.`
}

// World is what the command touches. Signals is for tests; if nil, those of the
// process.
type World struct {
	Stdout, Stderr io.Writer
	Version        string
	Signals        <-chan os.Signal
}

// Execute runs the command and returns its exit code.
func (c *Command) Execute(ctx context.Context, w World) int {
	signals := w.Signals
	if signals == nil && !c.Check {
		ch := make(chan os.Signal, 8)
		signal.Notify(ch, syscall.SIGHUP, syscall.SIGTERM, os.Interrupt)
		defer signal.Stop(ch)
		signals = ch
	}
	cfg, err := Load(ctx, c.Config)
	if err != nil {
		fmt.Fprintln(w.Stderr, err)
		return ExitUsage
	}
	if c.Check {
		fmt.Fprintf(w.Stdout, "%s: good, %d roles\n", c.Config, len(cfg.roles))
		return ExitOK
	}
	log := slog.New(slog.NewTextHandler(w.Stderr, nil))
	s, err := Start(cfg, Options{Log: log, Stdout: w.Stdout, Version: w.Version})
	if err != nil {
		log.Error("cannot start", "error", err)
		return ExitError
	}
	defer s.Close()
	log.Info("ready", "version", w.Version)
	for sig := range signals {
		if sig == syscall.SIGHUP {
			c.reload(ctx, s, log)
			continue
		}
		return c.end(ctx, s, signals, log)
	}
	return ExitOK
}

func (c *Command) reload(ctx context.Context, s *Server, log *slog.Logger) {
	cfg, err := Load(ctx, c.Config)
	if err != nil {
		s.ReloadFailed(err)
	} else {
		err = s.Reload(cfg)
	}
	if err != nil {
		for _, line := range each(err) {
			log.Error("reload failed; the rules before it stay in force", "error", line)
		}
		return
	}
	log.Info("reloaded", "file", c.Config)
}

// end drains. The next signal that is no reload cuts it short.
func (c *Command) end(ctx context.Context, s *Server, signals <-chan os.Signal, log *slog.Logger) int {
	drain := s.drainTime()
	log.Info("draining; another signal cuts it short", "at most", drain)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	done := make(chan int)
	go func() { done <- s.Drain(ctx) }()
	for {
		select {
		case n := <-done:
			log.Info("ended", "connections cut", n)
			return ExitOK
		case sig, ok := <-signals:
			if !ok || sig != syscall.SIGHUP {
				cancel()
				signals = nil
			}
		}
	}
}
