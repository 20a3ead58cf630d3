package sealprobe

import (
	"fmt"
	"io"
)

// Write prints a report for people: one line for each probe, and a summary.
func (r *Report) Write(w io.Writer) {
	group := ""
	for _, x := range r.Results {
		if x.From != group {
			group = x.From
			fmt.Fprintf(w, "\n%s\n", map[string]string{
				"page": "From a page", "url": "By a URL that somebody was fooled into opening", "browser": "By the browser of its own accord", "native": "By a program that obeys nothing",
			}[group])
		}
		word, rest := "held", fmt.Sprintf("%-42s saw nothing; unsealed: %s", x.Layer, first(x.Control))
		switch {
		case x.Verdict == NotObservable:
			word, rest = "-", "not observable"
		case x.Verdict == Leak && r.Seal == Off:
			word, rest = "out", "saw "+first(x.Control)
		case x.Verdict == Leak:
			word, rest = "LEAK", "saw "+first(x.Sealed)
		}
		fmt.Fprintf(w, "%-4s  %-57s  %s\n", word, x.Tried, rest)
	}
	fmt.Fprintln(w)
	for _, t := range r.Trouble {
		fmt.Fprintln(w, "trouble:", t)
	}
	total := len(r.Results)
	took := fmt.Sprintf("%d probes in %.1f s, %s.", total, float64(r.TookMS)/1000, r.Browser)
	switch {
	case r.Seal == Off:
		fmt.Fprintf(w, "Without a seal %d of %d probes got out; the others prove nothing. %s\n", r.Leaks, total, took)
	case r.OK:
		fmt.Fprintf(w, "Seal %s: nothing got out. %d probes were held; %d could not be observed, as their controls did not get out either. %s\n",
			r.Seal, r.Held, r.NotObservable, took)
	default:
		fmt.Fprintf(w, "Seal %s: %d probes GOT OUT, %d were held, %d could not be observed. %s\n", r.Seal, r.Leaks, r.Held, r.NotObservable, took)
	}
}
