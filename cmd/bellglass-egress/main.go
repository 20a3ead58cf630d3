// Command bellglass-egress is the egress proxy alone, for a container of its
// own: it links no browser and no tools.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/alecthomas/kong"

	"github.com/bellglass/bellglass/internal/egressd"
)

// version is set by the release build (-ldflags "-X main.version=…").
var version = "0.1.0-dev"

const description = `An egress proxy that refuses private, loopback and metadata addresses, resolves
once and dials what it judged. Who may reach what stands in a file.`

type cli struct {
	Version kong.VersionFlag `help:"Print the version."`
	egressd.Command
}

func main() {
	var c cli
	parser, err := kong.New(&c, kong.Name("bellglass-egress"), kong.Description(description),
		kong.Vars{"version": fmt.Sprintf("bellglass-egress %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic("bellglass-egress: command line: " + err.Error()) // a mistake in the struct above
	}
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if _, err := parser.Parse(args); err != nil {
		fmt.Fprintf(os.Stderr, "bellglass-egress: %v\nTry: bellglass-egress --help\n", err)
		os.Exit(egressd.ExitUsage)
	}
	os.Exit(c.Execute(context.Background(), egressd.World{Stdout: os.Stdout, Stderr: os.Stderr, Version: version}))
}
