package sealprobe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/internal/jail"
)

// nativesTimeout bounds the program with the native probes.
const nativesTimeout = 10 * time.Second

// anyPort stands for the proxy's where there is no jail.
const anyPort = 8080

// nativeEnv is the environment of the program, sealed: a browser's.
var nativeEnv = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC"}

// arguments are those of the program with the native probes.
func (r *run) arguments(ph phase, proxyPort uint16) []string {
	b := must(json.Marshal(nativeTasks(r.plan, ph, r.things.pid, r.things.ipc, proxyPort)))
	return []string{NativeCommand, string(b)}
}

// take believes of the answers what a sentinel can check, and of errors that
// they tell who refused.
func (r *run) take(ph phase, out []byte, layer string) error {
	var answers []nativeAnswer
	if err := json.Unmarshal(out, &answers); err != nil {
		return fmt.Errorf("the native probes said %q", out[:min(len(out), 200)])
	}
	r.things.told(answers)
	if ph == control {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range answers {
		why := a.Err
		if why == "" {
			why = "it arrived nowhere"
		}
		r.layers[a.N] = layer + ": " + why
	}
	return nil
}

// unsealedNatives runs them beside the service, with its environment and with
// the right to send packets by hand.
func (r *run) unsealedNatives(context.Context) error {
	f, err := r.lab.Start(r.arguments(control, anyPort), append(nativeEnv, secretVariable+"="+r.things.secret))
	if err != nil {
		return err
	}
	defer f.Close()
	f.SetDeadline(time.Now().Add(nativesTimeout))
	out, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("the native probes of the control: %w", err)
	}
	return r.take(control, out, "")
}

// sealedNatives runs them as a browser's process would run.
func (r *run) sealedNatives(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, nativesTimeout)
	defer cancel()
	level, err := r.level(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.report.Seal = string(level)
	r.mu.Unlock()
	if level == jail.ProxyOnly {
		return r.unjailedNatives(ctx)
	}
	home, err := os.MkdirTemp("", "bellglass-native-") // used at level landlock
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	var out, said bytes.Buffer
	j, err := jail.Start(ctx, jail.Spec{
		Level: level, Path: ownBinary, Env: nativeEnv, Home: home, Listeners: 1,
		Args:   func(_ string, ln []netip.AddrPort) []string { return r.arguments(sealed, ln[0].Port()) },
		Stdout: &out, Stderr: &said,
	})
	if err != nil {
		return err
	}
	defer func() {
		for _, ln := range j.Listeners {
			ln.Close()
		}
	}()
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Kill()
		return fmt.Errorf("the native probes in the jail did not end: %w", context.Cause(ctx))
	}
	if err := j.Err(); err != nil {
		return fmt.Errorf("the native probes in the jail: %w: %s", err, said.Bytes())
	}
	return r.take(sealed, out.Bytes(), "the jail")
}

// level is the one at which browsers would run here.
func (r *run) level(ctx context.Context) (jail.Level, error) {
	b, err := bellglass.New(bellglass.Options{BrowserBin: r.o.Binary.Path, Seal: bellglass.SealLevel(r.o.Seal)})
	if err != nil {
		return "", err
	}
	defer b.Close()
	level, _, err := b.Seal(ctx)
	return jail.Level(level), err
}

// unjailedNatives runs them as a browser that only its switches hold: with a
// browser's environment, and the rights of this user.
func (r *run) unjailedNatives(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, ownBinary, r.arguments(sealed, anyPort)...)
	cmd.Env = nativeEnv
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("the native probes: %w", err)
	}
	return r.take(sealed, out, "the system")
}
