//go:build !linux

package main

import (
	"os/exec"
	"testing"
)

func withoutNamespaces(t *testing.T, _ ...string) *exec.Cmd {
	t.Skip("namespaces exist on Linux only")
	return nil
}

func limitNamespaces() {}
