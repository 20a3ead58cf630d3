package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/bellglass/bellglass/internal/chrome"
	"github.com/bellglass/bellglass/internal/sealprobe"
)

// sealFlag is a flag that may stand alone: --seal, or --seal=off.
type sealFlag struct {
	set   bool
	level string // "" for what would be used here
}

// Decode implements [kong.MapperValue].
func (f *sealFlag) Decode(ctx *kong.DecodeContext) error {
	f.set = true
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	v := ctx.Scan.Pop().String()
	switch v {
	case "auto":
		v = ""
	case sealprobe.Off, "kernel", "landlock", "proxy-only":
	default:
		return fmt.Errorf("%q is none of auto, kernel, landlock, proxy-only, off", v)
	}
	f.level = v
	return nil
}

// IsBool lets the flag stand without a value.
func (f *sealFlag) IsBool() bool { return true }

// sealNativeCmd plays the program inside the seal; see package sealprobe.
type sealNativeCmd struct {
	Plan string `arg:"" help:"What to try."`
}

func (c *sealNativeCmd) Run(e *env) error {
	if code := sealprobe.Native([]string{c.Plan}, os.Stdin, e.stdout); code != 0 {
		return exitCode(code)
	}
	return nil
}

// seal tries to get out. In the lab the program runs a second time, and comes
// here again.
func (c *doctorCmd) seal(e *env) error {
	bin, err := chrome.Find(chrome.FindOptions{Full: chrome.Headful(os.Getenv)})
	if err != nil {
		return err
	}
	lab, code, done, err := sealprobe.Enter(bin)
	switch {
	case err != nil:
		return noLab(e, err)
	case done && code > 128: // a signal, before the program inside could heed it
		return exitCode(exitError)
	case done:
		return exitCode(code)
	}
	o := sealprobe.Options{Binary: bin, Seal: c.Seal.level}
	stop := func() {}
	o.Progress = func(s string) {
		stop()
		stop = progress(e.stderr, s)
	}
	report, err := sealprobe.Run(e.ctx, lab, o)
	stop()
	if err != nil {
		return err
	}
	if c.JSON {
		out := json.NewEncoder(e.stdout)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		report.Write(e.stdout)
	}
	if err == nil && !report.OK {
		err = exitCode(exitError)
	}
	return err
}

// noLab says why the probes cannot be made here. What refuses their network
// refuses the jail, too, and that knows the fix.
func noLab(e *env, err error) error {
	fmt.Fprintln(e.stderr, "bellglass: the probes need a network of their own, which this system refuses:")
	fmt.Fprintln(e.stderr, " ", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	var refused *chrome.SealError
	if errors.As(chrome.TrySeal(e.ctx, chrome.Kernel), &refused) {
		fmt.Fprintln(e.stderr, " ", refused.Why())
		if refused.Fix != "" {
			fmt.Fprintln(e.stderr, "  fix:", refused.Fix)
		}
	}
	return exitCode(exitError)
}
