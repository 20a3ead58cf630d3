package main

import (
	"fmt"
	"runtime"
)

// version is set by the release build (-ldflags "-X main.version=…").
var version = "0.1.0-dev"

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	_, err := fmt.Fprintf(e.stdout, "bellglass %s %s/%s %s\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	return err
}
