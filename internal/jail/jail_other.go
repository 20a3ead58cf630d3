//go:build !linux

package jail

import (
	"context"
	"net"
	"os"
	"runtime"
)

// Jail is a running program. There is none on this system.
type Jail struct {
	Level     Level
	Listeners []net.Listener
	Sniffer   *os.File
}

// Pid is the program's process id.
func (j *Jail) Pid() int { return 0 }

// Done is closed when the program has ended.
func (j *Jail) Done() <-chan struct{} { return nil }

// Err is why the program ended.
func (j *Jail) Err() error { return nil }

// Kill ends the program.
func (j *Jail) Kill() {}

// Start returns an [*Error]: jails need Linux.
func Start(_ context.Context, s Spec) (*Jail, error) {
	return nil, &Error{
		Level: s.Level, Step: "start", Text: "jails need Linux; this is " + runtime.GOOS,
		Fix: "run bellglass on Linux, for example in a container, or accept seal level proxy-only",
	}
}
