package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// quantile of what need not be sorted; 0 without values.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func (s singles) times(name, page string) []float64 {
	var out []float64
	for _, one := range s[name][page] {
		out = append(out, millis(one.took))
	}
	return out
}

// missed reports that at least one text was not complete.
func (s singles) missed(name, page string) bool {
	return slices.ContainsFunc(s[name][page], func(one sample) bool { return !one.whole })
}

// beside is the median of the ratios within a round: it depends least on what
// else the machine does.
func (s singles) beside(other, page string) float64 {
	a, b := s.times(oursName, page), s.times(other, page)
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, a[i]/b[i])
	}
	return quantile(ratios, .5)
}

func (s singles) report(out io.Writer, all []reader) {
	fmt.Fprintf(out, "%s, %s, %d processors, %d rounds, %v of thinking before each read; median and p95 in ms, and bellglass beside (median of the ratios within a round); * the text was not complete\n\n",
		time.Now().UTC().Format("2006-01-02"), runtime.Version(), runtime.NumCPU(), *rounds, *think)
	fmt.Fprint(out, "| |")
	for _, p := range pages {
		fmt.Fprintf(out, " %s |", p.name)
	}
	fmt.Fprint(out, "\n|---|---|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintf(out, "| %s |", r.name())
		for _, p := range pages {
			t := s.times(r.name(), p.name)
			fmt.Fprintf(out, " %.0f, %.0f", quantile(t, .5), quantile(t, .95))
			if s.missed(r.name(), p.name) {
				fmt.Fprint(out, " *")
			}
			if r.name() != oursName && s[oursName] != nil {
				fmt.Fprintf(out, " (%.2f)", s.beside(r.name(), p.name))
			}
			fmt.Fprint(out, " |")
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintln(out)
	for _, t := range targets {
		for i, p := range pages {
			if len(s.times(t.beside, p.name)) == 0 || s[oursName] == nil {
				continue
			}
			tell(out, fmt.Sprintf("%s beside %s", p.name, t.beside), s.beside(t.beside, p.name), t.most[i], s.beside(t.beside, p.name) <= t.most[i])
		}
	}
}

// targets are the most that a read may take beside others, in the order of
// pages. A missed one is no error: a machine may be busy.
var targets = []struct {
	beside string
	most   [4]float64
}{
	{loopName, [4]float64{.42, .42, .42, .65}},
	{agentName, [4]float64{.65, .65, .45, .25}},
}

func tell(out io.Writer, what string, value, target float64, met bool) {
	word := "met"
	if !met {
		word = "MISSED"
	}
	fmt.Fprintf(out, "- %s: %.2f, target %.2f: %s\n", what, value, target, word)
}

// crowdKey names what several callers did.
type crowdKey struct {
	reader, page string
	callers      int
}

// load is what came of it.
type load struct {
	perSecond float64
	each      []float64 // ms
}

type crowds map[crowdKey]load

var callers = []int{1, 4, 8, mostCallers}

func (c crowds) fill(ctx context.Context, all []reader, addr string) error {
	for j, p := range pages {
		if manyTargets[j] == 0 {
			continue
		}
		for k, n := range callers {
			for i := range all {
				r, ok := all[(i+k)%len(all)].(crowd)
				if !ok {
					continue
				}
				total := max(*reads, 3*n)
				if err := pause(ctx, *think); err != nil {
					return err
				}
				each, took, err := r.many(ctx, "http://"+addr+p.path, n, total)
				if err != nil {
					return fmt.Errorf("%s: %s with %d callers: %w", r.name(), p.name, n, err)
				}
				l := load{perSecond: float64(total) / took.Seconds()}
				for _, d := range each {
					l.each = append(l.each, millis(d))
				}
				c[crowdKey{r.name(), p.name, n}] = l
			}
		}
	}
	return nil
}

// What several callers are to get: pages beside the loop with 4 and 8 callers,
// by page (a page without a target is left out), and p99 beside p50.
var manyTargets = [4]float64{1.6, 0, 1.6, 1.2}

const spread = 4

func (c crowds) report(out io.Writer) {
	fmt.Fprintf(out, "\nPages a second, and p50, p99 of a read in ms; %d reads or three a caller.\n\n| | callers | %s | %s | times |\n|---|---|---|---|---|\n", *reads, oursName, loopName)
	for j, p := range pages {
		if manyTargets[j] == 0 {
			continue
		}
		for _, n := range callers {
			a, b := c[crowdKey{oursName, p.name, n}], c[crowdKey{loopName, p.name, n}]
			fmt.Fprintf(out, "| %s | %d | %s | %s |", p.name, n, a, b)
			if a.each != nil && b.each != nil {
				fmt.Fprintf(out, " %.2f", a.perSecond/b.perSecond)
			}
			fmt.Fprintln(out, " |")
		}
	}
	fmt.Fprintln(out)
	for i, p := range pages {
		for _, n := range callers {
			a, b := c[crowdKey{oursName, p.name, n}], c[crowdKey{loopName, p.name, n}]
			if times := a.perSecond / b.perSecond; a.each != nil && b.each != nil && manyTargets[i] > 0 && (n == 4 || n == 8) {
				tell(out, fmt.Sprintf("%s, %d callers, pages beside %s", p.name, n, loopName), times, manyTargets[i], times >= manyTargets[i])
			}
			if p50 := quantile(a.each, .5); p50 > 0 {
				tell(out, fmt.Sprintf("%s, %d callers, p99 beside p50", p.name, n), quantile(a.each, .99)/p50, spread, quantile(a.each, .99) < spread*p50)
			}
		}
	}
}

func (l load) String() string {
	if l.each == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f; %.0f, %.0f", l.perSecond, quantile(l.each, .5), quantile(l.each, .99))
}
