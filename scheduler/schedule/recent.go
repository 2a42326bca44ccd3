package schedule

import (
	"sync"
	"time"
)

// What was made lately is kept, and shared by all who want the same: a million jobs have a few thousand expressions in a
// few zones, and need not have one each. None of it ever changes.
var (
	expressions recent[string, rule]           // by the text of an expression, unless it has H in it
	parsed      recent[string, *fields]        // by that text without H
	zones       recent[string, *time.Location] // by name
	recurred    recent[recurrence, *plan]      // by all that is in it
)

// recurrence is a plan that is nothing but one rule.
type recurrence struct {
	zone *time.Location
	rule rule
}

// maxRecent bounds how many values of a kind are kept.
const maxRecent = 10_000

// recent is values that were made lately.
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
