package extract

import (
	"runtime"
	"sync"
)

// A caller waits for the choice of the main part while nothing else is to be
// done for it, so that it is worked out on a few processors at once.
const (
	leastPart = 128 // units: fewer take less time than a goroutine
	mostParts = 4
)

// inParts has do called for all of n units, part by part and several parts at
// once. A panic of do is one of the caller's.
func inParts(n int, do func(from, to int)) {
	parts := min(runtime.GOMAXPROCS(0), n/leastPart, mostParts)
	if parts < 2 {
		do(0, n)
		return
	}
	var wg sync.WaitGroup
	failed := make([]any, parts)
	for k := range parts {
		wg.Go(func() {
			defer func() { failed[k] = recover() }()
			do(n*k/parts, n*(k+1)/parts)
		})
	}
	wg.Wait()
	for _, p := range failed {
		if p != nil {
			panic(p)
		}
	}
}
