package main

import "strings"

// aligned marks the words of got that stand in want, in the same order for
// the most part: the longest run that both have first, then the longest on
// each side of it, and so on. Words that are very frequent start no run.
func aligned(got, want []string) []bool {
	at := map[string][]int{}
	for j, w := range want {
		at[w] = append(at[w], j)
	}
	if len(want) > 200 {
		for w, places := range at {
			if len(places) > len(want)/100+1 {
				delete(at, w)
			}
		}
	}
	marks := make([]bool, len(got))
	type part struct{ from, to, wantFrom, wantTo int }
	rest := []part{{0, len(got), 0, len(want)}}
	for len(rest) > 0 {
		p := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		i, j, n := longest(got, want, at, p.from, p.to, p.wantFrom, p.wantTo)
		if n == 0 {
			continue
		}
		for k := i; k < i+n; k++ {
			marks[k] = true
		}
		rest = append(rest, part{p.from, i, p.wantFrom, j}, part{i + n, p.to, j + n, p.wantTo})
	}
	return marks
}

// longest finds the longest run of words that both parts have.
func longest(got, want []string, at map[string][]int, from, to, wantFrom, wantTo int) (i, j, n int) {
	if wantFrom >= wantTo {
		return 0, 0, 0
	}
	before := map[int]int{} // length of the run that ends at a place of want
	for k := from; k < to; k++ {
		here := map[int]int{}
		for _, m := range at[got[k]] {
			if m < wantFrom {
				continue
			}
			if m >= wantTo {
				break
			}
			here[m] = before[m-1] + 1
			if here[m] > n {
				i, j, n = k-here[m]+1, m-here[m]+1, here[m]
			}
		}
		before = here
	}
	if n == 0 {
		i, j = from, wantFrom
	}
	for i > from && j > wantFrom && got[i-1] == want[j-1] {
		i, j, n = i-1, j-1, n+1
	}
	for i+n < to && j+n < wantTo && got[i+n] == want[j+n] {
		n++
	}
	return i, j, n
}

func wordsOf(s string) []string { return word.FindAllString(strings.ToLower(s), -1) }
