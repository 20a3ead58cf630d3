package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/mcpserver"
	"github.com/bellglass/bellglass/policy"
	"github.com/bellglass/bellglass/tools"
)

// drainTime is how long calls in progress may go on after SIGTERM.
const drainTime = 5 * time.Second

type mcpCmd struct {
	Profile string `help:"Tools: those that only read (read), or also those of a session that clicks and fills (act)." enum:"read,act" default:"read" env:"BELLGLASS_PROFILE"`
	Tenant  string `help:"On whose behalf." default:"local" env:"BELLGLASS_TENANT"`
	acting  `group:"With --profile act:"`
	many
	reach
}

// Help is shown by bellglass mcp --help.
func (mcpCmd) Help() string {
	return `An MCP client starts this command itself. Its configuration, for example:

  {"mcpServers": {"bellglass": {"command": "bellglass", "args": ["mcp"]}}}

Tools: browse_page (a page as Markdown) and list_links. Both only read.

With --profile act also browser_navigate, browser_state, browser_click,
browser_fill, browser_read, browser_extract and browser_screenshot. They reach
only what --allow lists, and over https, unless told otherwise:

  bellglass mcp --profile act --allow shop.example,.cdn.example`
}

func (c *mcpCmd) Run(e *env) error {
	if err := onBehalf(e, c.Tenant); err != nil {
		return err
	}
	if c.Profile == "act" && c.Mode == "" {
		c.Mode = string(policy.ModeAllowlist)
	}
	b, err := c.open(e, c.apply)
	if err != nil {
		return err
	}
	defer b.Close()
	list, instruction := tools.Read(b), bellglass.Instruction
	if c.Profile == "act" {
		o, err := c.session(c.reach)
		if err == nil {
			err = o.Check(b)
		}
		if err != nil {
			fmt.Fprintln(e.stderr, err)
			return exitCode(exitUsage)
		}
		sessions, err := tools.NewSessions(b, tools.SessionsOptions{Session: o})
		if err != nil {
			return err
		}
		defer sessions.Close()
		list, instruction = append(list, sessions.Tools()...), bellglass.ActInstruction
	}
	held := "no browser runs, and text that a page hides is recognised only in part"
	if bellglass.Engine(c.Engine) != bellglass.EngineHTTP || c.Profile == "act" {
		seal, _, err := b.Seal(e.ctx)
		if err != nil {
			return err
		}
		held = string(seal)
	}
	// Told to end, it answers what it has been asked already.
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	stop := context.AfterFunc(e.ctx, func() {
		defer cancel()
		ctx, cancel := context.WithTimeout(ctx, drainTime)
		defer cancel()
		b.Shutdown(ctx)
	})
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	// The client is answered at once; the browser is up by its first call.
	wg.Go(func() {
		if err := b.Start(ctx); err != nil && ctx.Err() == nil {
			e.log.Error("the browser does not start; every call will say so", "error", err)
		}
	})
	s := mcpserver.New(mcpserver.Options{
		Version:      version,
		Principal:    bellglass.Principal{Tenant: c.Tenant, Run: newRun()},
		Instructions: fmt.Sprintf("%s Seal: %s.", instruction, held),
	}, list)
	err = mcpserver.ServeStdio(ctx, s)
	if errors.Is(err, context.Canceled) && e.ctx.Err() != nil {
		return nil // Ctrl-C, or the client's SIGTERM
	}
	return err
}
