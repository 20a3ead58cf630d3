package main

import (
	"regexp"
	"strings"
)

var word = regexp.MustCompile(`[\p{L}\p{N}_]+`)

// marks are what Markdown adds to the text of a page and no word of it.
var marks = regexp.MustCompile("(?m)^[ \t>]*(?:#{1,6} |[-*+] |```.*$|: )|\\*\\*|~~|`|!\\[|⟦[^⟧]*⟧")

func unmarked(markdown string) string { return marks.ReplaceAllString(markdown, "") }

// wordF1 compares two texts as bags of lower-case words.
func wordF1(got, want string) float64 {
	g, w := bag(strings.ToLower(got), 1), bag(strings.ToLower(want), 1)
	c := compare(g, w)
	switch {
	case c.hits+c.extra == 0 && c.hits+c.missed == 0:
		return 1
	case c.hits == 0:
		return 0
	}
	return 2 * c.hits / (2*c.hits + c.extra + c.missed)
}

// counts of n-grams that two texts share, and that only one of them has.
type counts struct{ hits, extra, missed float64 }

func compare(got, want map[string]int) counts {
	var c counts
	for k, n := range got {
		m := want[k]
		c.hits += float64(min(n, m))
		c.extra += float64(max(n-m, 0))
	}
	for k, m := range want {
		c.missed += float64(max(m-got[k], 0))
	}
	return c
}

// bag counts the runs of n words in a text; a shorter text is one run.
func bag(text string, n int) map[string]int {
	words := word.FindAllString(text, -1)
	out := map[string]int{}
	if len(words) > 0 && len(words) < n {
		out[strings.Join(words, " ")]++
	}
	for i := 0; i+n <= len(words); i++ {
		out[strings.Join(words[i:i+n], " ")]++
	}
	return out
}

// precisionRecall compares two texts as bags of runs of four words, as the
// Article Extraction Benchmark does.
func precisionRecall(got, want string) (precision, recall float64) {
	c := compare(bag(got, 4), bag(want, 4))
	ratio := func(a, b float64) float64 {
		switch {
		case a+b == 0 && c.hits == 0:
			return 1
		case c.hits == 0:
			return 0
		}
		return c.hits / (c.hits + a)
	}
	return ratio(c.extra, 0), ratio(c.missed, 0)
}

// typography makes quotes and dashes alike: the corpora write some of them
// plainer than the pages do.
var typography = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "–", "-", "—", "-", "…", "...")

func squeeze(s string) string {
	return typography.Replace(strings.ToLower(strings.Join(strings.Fields(s), " ")))
}

// found is the share of the snippets that text holds.
func found(text string, snippets []string) (hits, all int) {
	text = squeeze(text)
	for _, s := range snippets {
		if s = squeeze(s); s == "" {
			continue
		}
		all++
		if strings.Contains(text, s) {
			hits++
		}
	}
	return hits, all
}
