package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/bellglass/bellglass/bench/internal/peer"
)

//go:embed loop.mjs
var loopScript []byte

// loop is the script in loop.mjs, in a Node of its own.
type loop struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startLoop(_ context.Context, lab peer.Lab) (reader, error) {
	script := filepath.Join(lab.Files, "loop.mjs")
	if err := os.WriteFile(script, loopScript, 0o600); err != nil {
		return nil, err
	}
	args := append([]string{script, lab.Folder, lab.Browser}, peer.NoSandbox("--no-sandbox")...)
	l := &loop{cmd: exec.Command("node", args...)}
	l.cmd.Dir, l.cmd.Env, l.cmd.Stderr = lab.Files, lab.Environment(), os.Stderr
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.out = bufio.NewReader(out)
	return l, l.cmd.Start()
}

func (*loop) name() string { return loopName }

func (l *loop) close() error {
	l.in.Close()
	return l.cmd.Wait()
}

// answer is a line of the script's; times are in milliseconds.
type answer struct {
	Each  []float64
	All   float64
	Text  string
	Error string
}

func (l *loop) ask(url string, callers, reads int) (a answer, err error) {
	if err := json.NewEncoder(l.in).Encode(map[string]any{"url": url, "callers": callers, "reads": reads}); err != nil {
		return a, err
	}
	line, err := l.out.ReadBytes('\n')
	if err != nil {
		return a, err
	}
	if err = json.Unmarshal(line, &a); err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
}

func (l *loop) read(_ context.Context, url string) (string, error) {
	a, err := l.ask(url, 1, 1)
	return a.Text, err
}

func (l *loop) many(_ context.Context, url string, callers, reads int) ([]time.Duration, time.Duration, error) {
	a, err := l.ask(url, callers, reads)
	each := make([]time.Duration, len(a.Each))
	for i, ms := range a.Each {
		each[i] = time.Duration(ms * float64(time.Millisecond))
	}
	return each, time.Duration(a.All * float64(time.Millisecond)), err
}
