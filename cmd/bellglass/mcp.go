package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/mcpserver"
	"github.com/bellglass/bellglass/tools"
)

type mcpCmd struct {
	Tenant string `help:"On whose behalf." default:"local" env:"BELLGLASS_TENANT"`
	reach
}

// Help is shown by bellglass mcp --help.
func (mcpCmd) Help() string {
	return `An MCP client starts this command itself. Its configuration, for example:

  {"mcpServers": {"bellglass": {"command": "bellglass", "args": ["mcp"]}}}

Tools: browse_page (a page as Markdown) and list_links. Both only read.`
}

func (c *mcpCmd) Run(e *env) error {
	if err := onBehalf(e, c.Tenant); err != nil {
		return err
	}
	b, err := c.open(e, 0)
	if err != nil {
		return err
	}
	defer b.Close()
	seal, _, err := b.Seal(e.ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(e.ctx)
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
		Instructions: fmt.Sprintf("%s Seal: %s.", bellglass.Instruction, seal),
	}, tools.Read(b))
	err = mcpserver.ServeStdio(ctx, s)
	if errors.Is(err, context.Canceled) && e.ctx.Err() != nil {
		return nil // Ctrl-C, or the client's SIGTERM
	}
	return err
}
