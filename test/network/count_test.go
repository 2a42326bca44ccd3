package network

import (
	"slices"
	"strings"
	"time"
)

// counted counts the executions of each slot before an instant by itself, of the jobs of load, and asks rota to verify the store.
func (s *scene) counted(until time.Time) {
	s.t.Helper()
	times, first, last := make(map[string]int), make(map[string]time.Time), make(map[string]time.Time)
	for _, e := range s.effects() {
		name, id, _ := strings.Cut(e.Run, "/")
		slot, err := time.Parse(time.RFC3339, id)
		if err != nil || !strings.HasPrefix(name, "each-") || slot.After(until) {
			continue
		}
		times[e.Run]++
		if at, ok := first[name]; !ok || slot.Before(at) {
			first[name] = slot
		}
		if slot.After(last[name]) {
			last[name] = slot
		}
	}
	slots, counts, never := 0, make(map[int]int), []string(nil)
	for name, at := range first {
		for ; !at.After(last[name]); at = at.Add(time.Second) {
			run := name + "/" + at.UTC().Format(time.RFC3339)
			slots++
			if counts[times[run]]++; times[run] == 0 {
				never = append(never, run)
			}
		}
	}
	slices.Sort(never)
	s.t.Logf("%d slots; executions of a slot: %v; never: %v", slots, counts, never[:min(len(never), 20)])
	states := make(map[string]int)
	for _, r := range s.c.Recorder.Runs("") {
		states[string(r.State)]++
	}
	s.t.Logf("runs by state: %v", states)
	s.c.Verify()
}
