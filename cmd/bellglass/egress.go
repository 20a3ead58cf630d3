package main

import "github.com/bellglass/bellglass/internal/egressd"

type egressCmd struct{ egressd.Command }

func (c *egressCmd) Run(e *env) error {
	if code := c.Execute(e.ctx, egressd.World{Stdout: e.stdout, Stderr: e.stderr, Version: version}); code != egressd.ExitOK {
		return exitCode(code)
	}
	return nil
}
