package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// results are the samples by contestant and page, one for each round.
type results map[string]map[string][]sample

func (r results) add(name, page string, s sample) {
	if r[name] == nil {
		r[name] = map[string][]sample{}
	}
	r[name][page] = append(r[name][page], s)
}

var steps = [...]string{"navigate → digest", "click → new state", "fill → new state"}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return v[len(v)/2]
}

// of returns a value of each round that did not fail.
func (r results) of(name, page string, i int, value func(step) float64) []float64 {
	var out []float64
	for _, s := range r[name][page] {
		if !s.failed() {
			out = append(out, value(s[i]))
		}
	}
	return out
}

// begun is the number of rounds of which there is a sample.
func (r results) begun() int {
	n := 0
	for _, by := range r {
		for _, samples := range by {
			n = max(n, len(samples))
		}
	}
	return n
}

// failed: the samples of a round in which something went wrong are empty.
func (s sample) failed() bool { return s == sample{} }

func millis(s step) float64 { return float64(s.took.Microseconds()) / 1000 }
func count(s step) float64  { return float64(s.tokens) }

// beside is the median of the ratios within a round: it depends least on what
// else the machine does.
func (r results) beside(other, page string, i int) float64 {
	a, b := r[ours[0].name][page], r[other][page]
	var ratios []float64
	for k := range min(len(a), len(b)) {
		if !a[k].failed() && !b[k].failed() {
			ratios = append(ratios, millis(a[k][i])/millis(b[k][i]))
		}
	}
	return median(ratios)
}

// fastest is the peer with the least median; "" without peers.
func (r results) fastest(page string, i int) string {
	best, least := "", 0.0
	for _, p := range others {
		if v := r.of(p.name, page, i, millis); len(v) > 0 && (best == "" || median(v) < least) {
			best, least = p.name, median(v)
		}
	}
	return best
}

func (r results) report(out io.Writer, all []contestant) error {
	fmt.Fprintf(out, "%s, %s, %d processors, %d rounds begun, %v of thinking before each call; medians, ratios of one round\n", time.Now().UTC().Format("2006-01-02"), runtime.Version(), runtime.NumCPU(), r.begun(), *think)
	for i, what := range steps {
		fmt.Fprintf(out, "\n| %s |", what)
		for _, p := range pages {
			fmt.Fprintf(out, " %s, ms | tokens | bellglass beside |", p.name)
		}
		fmt.Fprint(out, "\n|---|")
		for range pages {
			fmt.Fprint(out, "---|---|---|")
		}
		fmt.Fprintln(out)
		for _, c := range all {
			fmt.Fprintf(out, "| %s |", c.name())
			for _, p := range pages {
				fmt.Fprintf(out, " %.0f | %.0f |", median(r.of(c.name(), p.name, i, millis)), median(r.of(c.name(), p.name, i, count)))
				if c.name() == ours[0].name || r[ours[0].name] == nil {
					fmt.Fprint(out, " |")
				} else {
					fmt.Fprintf(out, " %.2f |", r.beside(c.name(), p.name, i))
				}
			}
			fmt.Fprintln(out)
		}
	}
	fmt.Fprintln(out)
	for _, c := range all {
		for _, p := range pages {
			if n := len(r[c.name()][p.name]) - len(r.of(c.name(), p.name, 0, millis)); n > 0 {
				fmt.Fprintf(out, "- %s, %s: %d of %d rounds failed\n", c.name(), p.name, n, len(r[c.name()][p.name]))
			}
		}
	}
	return r.targets(out)
}

// The targets.
const (
	fullTokens, clickTokens               = 2250, 300
	navigateRatio, clickRatio, quietRatio = .7, .3, .35
)

// targets tells which are met. A missed one is no error: a machine may be busy.
func (r results) targets(out io.Writer) error {
	us := ours[0].name
	if r[us] == nil {
		return nil
	}
	tell := func(what string, value, limit float64, format string) error {
		word := "met"
		if value > limit {
			word = "MISSED"
		}
		_, err := fmt.Fprintf(out, "- %s: "+format+", target "+format+": %s\n", what, value, limit, word)
		return err
	}
	for _, p := range pages {
		if len(r.of(us, p.name, 0, millis)) == 0 {
			return fmt.Errorf("no round on %s came to its end", p.name)
		}
		err := tell(p.name+", tokens of the full state", median(r.of(us, p.name, 0, count)), fullTokens, "%.0f")
		if err == nil {
			err = tell(p.name+", tokens of a click", median(r.of(us, p.name, 1, count)), clickTokens, "%.0f")
		}
		if best := r.fastest(p.name, 0); err == nil && best != "" {
			err = tell(p.name+", navigate → digest beside "+best, r.beside(best, p.name, 0), navigateRatio, "%.2f")
		}
		if best := r.fastest(p.name, 1); err == nil && best != "" {
			err = tell(p.name+", click → new state beside "+best, r.beside(best, p.name, 1), clickRatio, "%.2f")
		}
		if err == nil && r[realName] != nil {
			err = tell(p.name+", click → new state beside "+realName, r.beside(realName, p.name, 1), quietRatio, "%.2f")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
