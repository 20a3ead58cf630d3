package bellglass_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/bellglass/bellglass"

// layers is the architecture: what each package may import of ours. An arrow
// that is not here is an error, and so is a package that is not here.
var layers = map[string][]string{
	"policy":           {},
	"egress":           {"policy"},
	"internal/cdp":     {},
	"internal/jail":    {},
	"internal/pool":    {},
	"internal/memory":  {},
	"internal/vectors": {},
	"internal/wire":    {},
	"internal/netns":   {"internal/wire"},
	"internal/chrome":  {"internal/cdp", "internal/jail"},
	"internal/extract": {},
	"digest":           {},
	"internal/look":    {"digest", "internal/extract"},
	"internal/content": {},
	"internal/pdftext": {"internal/jail"},
	"internal/tab":     {"digest", "internal/cdp", "internal/extract", "internal/look"},
	"internal/answer":  {},
	"internal/guard":   {},
	"internal/plain":   {"policy", "internal/extract"},
	"internal/robots":  {},
	"":                 {"policy", "egress", "digest", "internal/answer", "internal/chrome", "internal/content", "internal/extract", "internal/guard", "internal/look", "internal/memory", "internal/pdftext", "internal/plain", "internal/pool", "internal/robots", "internal/tab"},
	"tools":            {"", "internal/answer"},
	"mcpserver":        {"", "tools"},
	"internal/egressd": {"policy", "egress"},
	"internal/demo":    {},
	"internal/doctor":  {"", "internal/chrome", "internal/demo"},

	"internal/sealprobe": {"", "policy", "egress", "internal/chrome", "internal/jail", "internal/netns", "internal/vectors", "internal/wire"},

	"internal/docs": {"", "tools", "internal/egressd"},
	"cmd/bellglass": {"", "policy", "egress", "tools", "mcpserver", "internal/chrome", "internal/demo", "internal/doctor", "internal/egressd", "internal/sealprobe"},

	// The proxy alone. What else it may not link, a test below says.
	"cmd/bellglass-egress": {"internal/egressd"},

	// For tests and benchmarks only; no package above may import these.
	"internal/cdptest":        {},
	"internal/testweb":        {"internal/vectors", "internal/wire"},
	"internal/testweb/netlab": {"internal/netns"},
	"internal/testweb/suite":  {"", "internal/testweb", "internal/testweb/netlab"},
	"internal/acttest":        {},
	"bench":                   {},
	"internal/exhaustion":     {},
	"internal/loadtest":       {},
	"internal/faulttest":      {},
	"internal/readtest":       {},
	"internal/hidetest":       {},
	"internal/sealtest":       {},
	"internal/tasktest":       {},

	"internal/content/browsertest": {},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, args...)...).Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			t.Fatalf("go list: %s", e.Stderr)
		}
		t.Fatal(err)
	}
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func short(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, module)
	return strings.TrimPrefix(rest, "/"), ok
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t, "./...") {
		name, _ := short(p.ImportPath)
		seen[name] = true
		may, known := layers[name]
		if !known {
			t.Errorf("package %q is not in the table", name)
			continue
		}
		for _, imp := range p.Imports {
			if dep, ours := short(imp); ours && !slices.Contains(may, dep) {
				t.Errorf("%q imports %q, which the table does not allow", name, dep)
			}
		}
	}
	for name := range layers {
		if !seen[name] {
			t.Errorf("the table names %q, which does not exist", name)
		}
	}
}

// TestOnlyMCPServerKnowsTheSDK keeps the MCP SDK, and the browser, out of what
// must stay small and trusted.
func TestOnlyMCPServerKnowsTheSDK(t *testing.T) {
	const sdk = "github.com/modelcontextprotocol/"
	for _, p := range list(t, "./...") {
		name, _ := short(p.ImportPath)
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, sdk) && name != "mcpserver" {
				t.Errorf("%q imports %s", name, imp)
			}
		}
		if name != "egress" && name != "policy" {
			continue
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, sdk) || strings.Contains(dep, "cdproto") || strings.HasPrefix(dep, module+"/internal/") {
				t.Errorf("%q links %s", name, dep)
			}
		}
	}
}

// TestTheProxyAloneLinksNoBrowser: the program that holds the only way out
// stays small. It links neither Chrome's protocol nor tools nor MCP.
func TestTheProxyAloneLinksNoBrowser(t *testing.T) {
	ours := []string{"policy", "egress", "internal/egressd"}
	all := list(t, "./cmd/bellglass-egress")
	if len(all) != 1 {
		t.Fatalf("%d packages", len(all))
	}
	for _, dep := range all[0].Deps {
		name, own := short(dep)
		if own && !slices.Contains(ours, name) {
			t.Errorf("it links %q", name)
		}
		for _, never := range []string{"cdproto", "modelcontextprotocol", "chromedp"} {
			if strings.Contains(dep, never) {
				t.Errorf("it links %s", dep)
			}
		}
	}
}
