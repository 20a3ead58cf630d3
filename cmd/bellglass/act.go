package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bellglass/bellglass"
	"github.com/bellglass/bellglass/policy"
)

// acting is what the tools of profile act may do.
type acting struct {
	Act                []string      `help:"Host on which may be clicked and typed; unless given, every host that may be opened. Repeatable." placeholder:"HOST" env:"BELLGLASS_ACT"`
	AllowInsecureHTTP  bool          `help:"Permit plain http." name:"allow-insecure-http" env:"BELLGLASS_ALLOW_INSECURE_HTTP"`
	AllowSensitiveFill bool          `help:"Let passwords, one-time codes and payment data be filled in." name:"allow-sensitive-fill" env:"BELLGLASS_ALLOW_SENSITIVE_FILL"`
	Selectors          bool          `help:"Let elements be named by CSS selectors, too." env:"BELLGLASS_SELECTORS"`
	ResultURLs         string        `help:"URLs in results: without query (strip), or whole (full)." name:"result-urls" enum:"strip,full" default:"strip" env:"BELLGLASS_RESULT_URLS"`
	Time               string        `help:"Clock of pages: it stands still between calls (stepped), or runs on (real), for pages that live on sockets." enum:"stepped,real" default:"stepped" env:"BELLGLASS_TIME"`
	Artefacts          string        `help:"Folder for screenshots; unless given, one in the user's cache." type:"path" placeholder:"DIR" env:"BELLGLASS_ARTEFACTS"`
	Idle               time.Duration `help:"A session ends so long after its last call." name:"session-idle" default:"10m" env:"BELLGLASS_SESSION_IDLE"`
	Age                time.Duration `help:"A session ends so long after it was opened." name:"session-age" default:"1h" env:"BELLGLASS_SESSION_AGE"`
	DenyOutput         []string      `help:"Pattern of what must not be shown: redact:REGEXP or block:REGEXP. Repeatable." name:"deny-output" sep:"none" placeholder:"ACTION:REGEXP" env:"BELLGLASS_DENY_OUTPUT"`
	DenyCommands       []string      `help:"Pattern of text and addresses that must not be typed or opened. Repeatable." name:"deny-command" sep:"none" placeholder:"REGEXP" env:"BELLGLASS_DENY_COMMANDS"`
	DeniedTools        []string      `help:"Tool that is not offered, by name or glob. Repeatable." name:"deny-tool" placeholder:"NAME" env:"BELLGLASS_DENIED_TOOLS"`
}

// session turns flags into the options of a session. What is wrong with them
// is found by [bellglass.SessionOptions.Check].
func (a acting) session(r reach) (bellglass.SessionOptions, error) {
	o := bellglass.SessionOptions{
		Mode: policy.Mode(r.Mode), Act: a.Act, AllowInsecureHTTP: a.AllowInsecureHTTP && !r.RequireHTTPS,
		AllowSensitiveFill: a.AllowSensitiveFill, Selectors: a.Selectors, FullURLs: a.ResultURLs == "full", RealTime: a.Time == "real",
		IdleTimeout: a.Idle, MaxAge: a.Age, ArtefactDir: a.Artefacts,
		Guardrails: bellglass.Guardrails{DenyCommands: a.DenyCommands, DeniedTools: a.DeniedTools},
	}
	var errs []error
	for _, d := range a.DenyOutput {
		action, pattern, ok := strings.Cut(d, ":")
		if !ok || action != "redact" && action != "block" {
			errs = append(errs, fmt.Errorf("--deny-output %q begins neither with redact: nor with block: as it must", d))
		}
		o.Guardrails.DenyOutput = append(o.Guardrails.DenyOutput, bellglass.DenyOutput{Pattern: pattern, Block: action == "block"})
	}
	if o.ArtefactDir == "" {
		if cache, err := os.UserCacheDir(); err == nil {
			o.ArtefactDir = filepath.Join(cache, "bellglass", "artefacts")
		}
	}
	return o, errors.Join(errs...)
}
