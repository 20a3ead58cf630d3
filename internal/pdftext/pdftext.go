// Package pdftext reads the text of PDF files, in a process of its own.
//
// A PDF is a program for a machine that nobody vetted, and its reader would
// run beside everything that a caller holds. [Read] therefore executes the
// running binary once more, at levels kernel and landlock in a jail without
// any network; the package's init function recognises that process by its one
// argument. It gets the file over a pipe, no environment and limited memory
// and time, and answers with text. Whatever becomes of it is an error of Read.
//
// What nobody can see on the page is left out: text in invisible mode, in the
// colour of what is under it, outside of the page, transparent or tiny. Text
// in pictures is not read.
package pdftext

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"github.com/bellglass/bellglass/internal/jail"
)

// Limits of one file.
const (
	maxPages  = 2000
	maxText   = 10 << 20  // bytes of text
	maxAnswer = 32 << 20  // bytes of what the child may answer: text in JSON
	memory    = 768 << 20 // bytes for the child; a file of 25 MiB took 150 (measured)
	tasks     = 64

	// Timeout is the most that a file may take. A book of 500 pages takes two
	// seconds.
	Timeout = 12 * time.Second
)

// Doc is a file's text.
type Doc struct {
	Title  string   // as the file says
	Pages  []string // lines of text; empty for a page without any
	Hidden int      // characters that nobody could see, left out
	Cut    bool     // there are more pages than were read
}

// Why a file was not read.
var (
	// ErrMalformed: it is no PDF, encrypted, or broken.
	ErrMalformed = errors.New("pdftext: the file cannot be read")
	// ErrLimit: reading it took too much time or memory.
	ErrLimit = errors.New("pdftext: the file takes too much to read")
)

// child is the argument by which the process that reads is recognised; it reads
// the file from descriptor childFD.
const (
	child   = "bellglass-pdftext: read descriptor 3"
	childFD = 3
)

// env of the child: one processor is enough, and its collector keeps it below
// the limit, which ends it.
var env = []string{"GOMAXPROCS=1", fmt.Sprintf("GOMEMLIMIT=%d", memory*3/4)}

// Read returns the text of a PDF. Level is a level of package jail; at any but
// kernel and landlock the child is a process without a jail, and its memory is
// bounded by its own collector only. The error is one of this package's, an
// error of the jail, or ctx's.
func Read(ctx context.Context, level string, file []byte) (Doc, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, ErrLimit)
	defer cancel()
	in, w, err := os.Pipe()
	if err != nil {
		return Doc{}, fmt.Errorf("pdftext: %w", err)
	}
	defer w.Close()
	out := &answer{}
	end := run(ctx, jail.Level(level), in, out)
	go func() {
		w.Write(file) // breaks off when the child is gone
		w.Close()
	}()
	if err := end(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Doc{}, err
	}
	var d Doc
	if out.full || json.Unmarshal(out.b.Bytes(), &d) != nil || len(d.Pages) > maxPages {
		return Doc{}, ErrMalformed
	}
	return d, nil
}

// answer collects what the child writes, up to its limit.
type answer struct {
	b    bytes.Buffer
	full bool
}

func (a *answer) Write(p []byte) (int, error) {
	if a.b.Len()+len(p) > maxAnswer {
		a.full = true
		return 0, io.ErrShortWrite
	}
	return a.b.Write(p)
}

// run starts the child and returns how to wait for its end. The child has in,
// which is closed here.
func run(ctx context.Context, level jail.Level, in *os.File, out io.Writer) (end func() error) {
	failed := func(err error) func() error {
		in.Close()
		return func() error { return err }
	}
	if level != jail.Kernel && level != jail.Landlock {
		self, err := os.Executable()
		if err != nil {
			return failed(fmt.Errorf("pdftext: %w", err))
		}
		cmd := exec.CommandContext(ctx, self, child)
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.ExtraFiles, cmd.WaitDelay = env, os.TempDir(), out, []*os.File{in}, time.Second
		if err := cmd.Start(); err != nil {
			return failed(fmt.Errorf("pdftext: %w", err))
		}
		in.Close()
		return func() error { return outcome(cmd.Wait()) }
	}
	s := jail.Spec{
		Level: level, Path: jail.Self, Env: env, Extra: []*os.File{in}, Stdout: out,
		Args:   func(string, []netip.AddrPort) []string { return []string{child} },
		Limits: jail.Limits{Memory: memory, Tasks: tasks},
	}
	clean := func() {}
	if level == jail.Landlock {
		home, err := os.MkdirTemp("", "bellglass-pdf-")
		if err != nil {
			return failed(fmt.Errorf("pdftext: %w", err))
		}
		s.Home, clean = home, func() { os.RemoveAll(home) }
	}
	j, err := jail.Start(ctx, s)
	if err != nil {
		clean()
		return failed(fmt.Errorf("pdftext: %w", err))
	}
	in.Close()
	return func() error {
		defer clean()
		select {
		case <-j.Done():
		case <-ctx.Done():
			j.Kill()
			return context.Cause(ctx)
		}
		return outcome(j.Err())
	}
}

// outcome says in this package's words how the child ended.
func outcome(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jail.ErrMemory), errors.Is(err, jail.ErrTasks):
		return fmt.Errorf("%w: %w", ErrLimit, err)
	case errors.As(err, &exit) && exit.ExitCode() == exitLimit:
		return ErrLimit
	case errors.As(err, &exit):
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return fmt.Errorf("pdftext: %w", err)
}
