package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/doctor"
)

type doctorCmd struct {
	JSON bool     `help:"Print the findings as JSON." name:"json"`
	Seal sealFlag `help:"Try to get out, for real, in a network from which nothing leaves this machine: sealed as it would be here, or --seal=kernel, landlock, proxy-only, or off, which shows what the probes do unsealed." placeholder:"LEVEL"`
	Find bool     `help:"Only print the path of the browser that would be used."`
}

func (c *doctorCmd) Run(e *env) error {
	if c.Seal.set {
		return c.seal(e)
	}
	if c.Find {
		bin, err := chrome.Find(chrome.FindOptions{Full: chrome.Headful(os.Getenv)})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(e.stdout, bin.Path)
		return err
	}
	all := []doctor.Check{}
	ok := doctor.Run(e.ctx, os.Getenv, func(k doctor.Check) {
		all = append(all, k)
		if c.JSON {
			return
		}
		fmt.Fprintf(e.stdout, "%-4s  %-8s  %s\n", k.Level, k.Name, k.Detail)
		if k.Fix != "" {
			fmt.Fprintf(e.stdout, "%-4s  %-8s  fix: %s\n", "", "", k.Fix)
		}
	})
	if c.JSON {
		out := json.NewEncoder(e.stdout)
		out.SetIndent("", "  ")
		if err := out.Encode(all); err != nil {
			return err
		}
	}
	if !ok {
		return exitCode(exitError)
	}
	return nil
}
