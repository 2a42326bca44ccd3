package schedule

import (
	"sync"
	"time"
)

// Parsed values are cached and shared, because a million jobs have only a few thousand expressions in a few zones. The values
// never change.
var (
	expressions recent[string, rule]           // by the text of an expression without H
	parsed      recent[string, *fields]        // by the text of an expression, with H replaced
	zones       recent[string, *time.Location] // by name
	recurred    recent[recurrence, *plan]      // by its content
)

// recurrence is the content of a plan with a single rule. It is the key of the plan in the cache.
type recurrence struct {
	zone *time.Location
	rule rule
}

// maxRecent bounds how many values of one kind are kept.
const maxRecent = 10_000

// recent is a cache. When it is full, it is emptied.
type recent[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]V // guarded by mu
}

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.kept[key]
	return v, ok
}

func (r *recent[K, V]) put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil || len(r.kept) >= maxRecent {
		r.kept = make(map[K]V)
	}
	r.kept[key] = v
}
