package bellglass_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryAttackIsATestOrSaysWhyNot: each id in the list of attacks stands in
// a test, or in left.tsv with the reason, and not in both.
func TestEveryAttackIsATestOrSaysWhyNot(t *testing.T) {
	list, err := os.ReadFile("testdata/cases/attacks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile("testdata/cases/left.tsv")
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for line := range strings.Lines(string(reasons)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		id, why, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || len(why) < 10 {
			t.Errorf("left.tsv: no reason: %q", line)
		}
		left[id] = true
	}
	tested := testIDs(t)
	ids := regexp.MustCompile(`"id": "([A-Z]+-[0-9]+)"`).FindAllStringSubmatch(string(list), -1)
	if len(ids) < 300 {
		t.Fatalf("only %d ids in the list", len(ids))
	}
	known := map[string]bool{}
	for _, m := range ids {
		id := m[1]
		known[id] = true
		switch {
		case tested[id] && left[id]:
			t.Errorf("%s is a test, and in left.tsv", id)
		case !tested[id] && !left[id]:
			t.Errorf("%s is neither a test nor in left.tsv", id)
		}
	}
	for id := range left {
		if !known[id] && !strings.Contains(id, "-") {
			t.Errorf("left.tsv names %s, which is no case", id)
		}
	}
}

// TestRegressionsHaveTests: each line of regressions.tsv names tests, and they
// exist.
func TestRegressionsHaveTests(t *testing.T) {
	list, err := os.ReadFile("testdata/cases/regressions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	tests, lines := testNames(t), 0
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		what, names, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || what == "" {
			t.Errorf("no tests: %q", line)
		}
		for _, name := range strings.Fields(names) {
			if !tests[name] {
				t.Errorf("%q names %s, which does not exist", what, name)
			}
		}
	}
	if lines < 28 {
		t.Errorf("only %d lines", lines)
	}
}

// testIDs collects the ids that stand in test files.
func testIDs(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	id := regexp.MustCompile(`\b[A-Z]{2,4}-\d{3}\b`)
	err := filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range id.FindAllString(string(b), -1) {
			found[m] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
