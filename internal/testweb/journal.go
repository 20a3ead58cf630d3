package testweb

import (
	"context"
	"slices"
	"sync"
)

// journal is a list that only grows, and that can be waited on.
type journal[T any] struct {
	mu      sync.Mutex
	items   []T
	changed chan struct{} // closed and replaced at every change; nil before the first wait
}

// add appends an item and returns its index.
func (j *journal[T]) add(item T) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.items = append(j.items, item)
	j.wake()
	return len(j.items) - 1
}

// edit changes an item in place.
func (j *journal[T]) edit(i int, change func(*T)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.items[i])
	j.wake()
}

func (j *journal[T]) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// all returns a copy of the items that keep accepts.
func (j *journal[T]) all(keep func(T) bool) []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	var items []T
	for _, item := range j.items {
		if keep == nil || keep(item) {
			items = append(items, item)
		}
	}
	return items
}

// wait returns the first item that match accepts, present or future, or false
// when ctx ends first.
func (j *journal[T]) wait(ctx context.Context, match func(T) bool) (T, bool) {
	for {
		j.mu.Lock()
		if i := slices.IndexFunc(j.items, match); i >= 0 {
			defer j.mu.Unlock()
			return j.items[i], true
		}
		if j.changed == nil {
			j.changed = make(chan struct{})
		}
		changed := j.changed
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			var none T
			return none, false
		}
	}
}
