package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestJobTable compares a jobTable with a map, during random additions and removals.
func TestJobTable(t *testing.T) {
	table, want := newJobTable(), map[string]*jobState{}
	random := rand.New(rand.NewPCG(1, 2))
	for step := range 100_000 {
		names := 1 + 3000*(step/20_000) // few names make long lists of neighbors
		name := fmt.Sprint("job-", random.IntN(names))
		if got := table.get(name); got != want[name] {
			t.Fatalf("step %d: get %s: got %v, want %v", step, name, got, want[name])
		}
		if want[name] != nil {
			table.remove(name)
			table.remove(name) // does nothing
			delete(want, name)
			continue
		}
		want[name] = &jobState{name: name}
		table.add(want[name])
	}
	for name, j := range want {
		if table.get(name) != j {
			t.Errorf("job %s is lost", name)
		}
	}
	n := 0
	table.all(func(j *jobState) bool {
		if n++; want[j.name] != j {
			t.Errorf("job %s is there, but was removed", j.name)
		}
		return true
	})
	if n != len(want) || table.count != n {
		t.Errorf("got %d jobs, counted %d, want %d", n, table.count, len(want))
	}
}

// TestJobTableMemory bounds the memory for a million jobs, and of the state of one of them.
func TestJobTableMemory(t *testing.T) {
	table := newJobTable()
	table.makeRoom(1_000_000)
	if got, most := 8*len(table.slots), 17<<20; got > most {
		t.Errorf("got %d bytes, want at most %d", got, most)
	}
	if got := unsafe.Sizeof(jobState{}); got > 96 {
		t.Errorf("a state has %d bytes, want at most 96: the next size of an allocation is 112", got)
	}
}
