package bellglass_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// threatRow is one line of the tables in docs/threat-model.md.
type threatRow struct {
	class, attack, layer string
	tests, ids           []string
}

// threats reads the tables.
func threats(t *testing.T) []threatRow {
	t.Helper()
	b, err := os.ReadFile("docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []threatRow
	class := ""
	heading := regexp.MustCompile("^### .*\\(`([a-z-]+)`\\)$")
	quoted := regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			class = ""
			if m := heading.FindStringSubmatch(line); m != nil {
				class = m[1]
			}
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if class == "" || !strings.HasPrefix(line, "|") || len(cells) != 4 || strings.Contains(line, "---") || strings.Contains(line, "| proved by |") {
			continue
		}
		row := threatRow{class: class, attack: strings.TrimSpace(cells[0]), layer: strings.TrimSpace(cells[1])}
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			row.tests = append(row.tests, m[1])
		}
		for _, id := range strings.Split(cells[3], ",") {
			if id = strings.TrimSpace(id); id != "" {
				row.ids = append(row.ids, id)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// TestTheThreatModelIsTrue: every test that docs/threat-model.md names exists,
// every class of attacks has a row, and every attack that is a test is in one.
func TestTheThreatModelIsTrue(t *testing.T) {
	rows := threats(t)
	if len(rows) < 40 {
		t.Fatalf("only %d rows were read", len(rows))
	}
	tests := testNames(t)
	classes, order := attackClasses(t)
	tested := testIDs(t)
	named, rowsOf := map[string]bool{}, map[string]int{}
	for _, r := range rows {
		rowsOf[r.class]++
		if len(r.tests) == 0 || r.layer == "" {
			t.Errorf("%q names no test, or no layer", r.attack)
		}
		for _, name := range r.tests {
			if !tests[name] {
				t.Errorf("%q names %s, which does not exist", r.attack, name)
			}
		}
		for _, id := range expand(t, order, r.ids) {
			named[id] = true
			if classes[id] != r.class {
				t.Errorf("%s stands under %s, and is of class %q", id, r.class, classes[id])
			}
			if !tested[id] {
				t.Errorf("%s stands in a row, and no test names it", id)
			}
		}
	}
	for _, id := range order {
		if rowsOf[classes[id]] == 0 {
			t.Errorf("class %s has no row", classes[id])
			rowsOf[classes[id]] = 1 // once is enough
		}
		if tested[id] && !named[id] {
			t.Errorf("%s (%s) is a test, and stands in no row of docs/threat-model.md", id, classes[id])
		}
	}
}

// attackClasses returns the class of each id, and the ids in their order.
func attackClasses(t *testing.T) (map[string]string, []string) {
	t.Helper()
	b, err := os.ReadFile("testdata/cases/attacks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{}
	var order []string
	for _, m := range regexp.MustCompile(`"id": "([A-Z]+-[0-9]+)", "class": "([a-z-]+)"`).FindAllStringSubmatch(string(b), -1) {
		classes[m[1]] = m[2]
		order = append(order, m[1])
	}
	return classes, order
}

// expand replaces "IP-001…008" by all ids of the list from the one to the other.
func expand(t *testing.T, order, ids []string) []string {
	t.Helper()
	var out []string
	for _, id := range ids {
		from, last, many := strings.Cut(id, "…")
		if !many {
			out = append(out, id)
			continue
		}
		to := from[:strings.Index(from, "-")+1] + last
		inside := false
		for _, x := range order {
			inside = inside || x == from
			if inside {
				out = append(out, x)
			}
			if inside && x == to {
				inside = false
				to = ""
			}
		}
		if to != "" {
			t.Errorf("%q is no range of the list", id)
		}
	}
	return out
}

// testNames collects the names of all tests of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	decl := regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range decl.FindAllStringSubmatch(string(b), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
