package jail

import (
	"fmt"
	"syscall"
)

// Error says that a level cannot be had here: which step failed, why, and
// what an operator can do about it.
type Error struct {
	Level Level
	// Step is what was tried, in the words of the system call.
	Step string
	// Errno is what the kernel said; 0 if it was not the kernel who refused.
	Errno syscall.Errno
	// Text is further detail, such as what the second stage wrote.
	Text string
	// Cause names the setting that is in the way, as far as it can be told.
	Cause string
	// Fix says how to change that, for the platform at hand.
	Fix string
}

func (e *Error) Error() string {
	if e.Fix == "" {
		return e.Why()
	}
	return e.Why() + "; fix: " + e.Fix
}

// Why is the error without the fix.
func (e *Error) Why() string {
	s := fmt.Sprintf("jail: seal %s is not available: %s", e.Level, e.Step)
	if e.Errno != 0 {
		s += fmt.Sprintf(": %s (errno %d)", e.Errno.Error(), int(e.Errno))
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Cause != "" {
		s += "; in the way: " + e.Cause
	}
	return s
}

// Unwrap returns the errno, for errors.Is.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}
