// Command bellglass reads web pages through a sealed browser, and serves that
// to AI agents.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/bellglass/bellglass"
)

// Exit codes.
const (
	exitOK       = 0
	exitError    = 1
	exitUsage    = 2
	exitRejected = 3
	exitBusy     = 4
	exitTimeout  = 5
)

const description = `Reads web pages that nobody vetted: a real Chromium renders them, every byte
passes an egress proxy that refuses private, loopback and metadata addresses,
and what comes back is bounded text.

Try:
  bellglass demo                      watch a page read, and fail to get out
  bellglass browse https://go.dev     a page as Markdown
  bellglass mcp                       serve it to an AI agent over stdio
  bellglass doctor                    is everything in place?
  bellglass doctor --seal             try to get out of the seal, for real

Exit codes: 0 ok, 1 error, 2 usage, 3 rejected by policy, 4 busy, 5 timeout.`

// cli is the whole command line.
type cli struct {
	Verbose bool `help:"Log what happens, not only what is wrong." short:"v" env:"BELLGLASS_VERBOSE"`

	Browse  browseCmd  `cmd:"" help:"Read one page and print it as Markdown."`
	Links   linksCmd   `cmd:"" help:"Read one page and print its links."`
	Demo    demoCmd    `cmd:"" help:"Read the built-in demo site, which tries to get out, and say how that went."`
	MCP     mcpCmd     `cmd:"" name:"mcp" help:"Serve the read tools to an AI agent over standard input and output."`
	Egress  egressCmd  `cmd:"" help:"Run the egress proxy alone, as bellglass-egress does."`
	Doctor  doctorCmd  `cmd:"" help:"Check the installation and say how to mend it."`
	Version versionCmd `cmd:"" help:"Print the version."`

	SealNative sealNativeCmd `cmd:"" hidden:"" help:"Used by doctor --seal."`
}

// env is what a command may touch of the world.
type env struct {
	ctx            context.Context
	stdout, stderr io.Writer
	log            *slog.Logger
}

// exitCode is an error that has been told to the user already.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

func main() { os.Exit(run()) }

func run() int {
	var c cli
	parser, err := kong.New(&c, kong.Name("bellglass"), kong.Description(description),
		kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(int) { panic(exitCode(exitOK)) })) // --help; undone below
	if err != nil {
		panic("bellglass: command line: " + err.Error()) // a mistake in the struct above
	}
	code, parsed := parse(parser)
	if parsed == nil {
		return code
	}
	// The first Ctrl-C ends things in order, the second at once.
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if parsed.Command() != "egress" && !signal.Ignored(syscall.SIGHUP) { // the proxy reads its file again
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, stop)
	defer stop()
	// Who stops reading our output ends no browser in mid-air: the write fails,
	// and what was started is ended.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	level := slog.LevelWarn
	if c.Verbose {
		level = slog.LevelInfo
	}
	err = parsed.Run(&env{
		ctx: ctx, stdout: os.Stdout, stderr: os.Stderr,
		log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	})
	var told exitCode
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &told):
		return int(told)
	}
	fmt.Fprintln(os.Stderr, "bellglass:", err)
	return exitError
}

// parse reads the command line. A nil context means that the answer was given:
// help, or a usage error.
func parse(parser *kong.Kong) (code int, parsed *kong.Context) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(exitCode)
			if !ok {
				panic(p)
			}
			code, parsed = int(e), nil
		}
	}()
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bellglass: %v\nTry: bellglass --help\n", err)
		return exitUsage, nil
	}
	return exitOK, parsed
}

// codeOf turns a status into an exit code.
func codeOf(s bellglass.Status) int {
	switch s {
	case bellglass.StatusOK:
		return exitOK
	case bellglass.StatusRejected:
		return exitRejected
	case bellglass.StatusBusy:
		return exitBusy
	case bellglass.StatusTimeout:
		return exitTimeout
	}
	return exitError
}
