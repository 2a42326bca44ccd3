package node

import (
	"io/fs"
	"testing"
)

func TestGrowthIsBounded(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 96 << 20: 400, 384 << 20: 100, 448 << 20: 71, 512 << 20: 50, 8 << 30: 50} {
		if got := growth(live, mostSpare); got != want {
			t.Errorf("growth(%d MiB) = %d, want %d", live>>20, got, want)
		}
	}
	if got := growth(64<<20, 32<<20); got != leastGrowth {
		t.Errorf("growth of 64 MiB with 32 to spare = %d, want %d", got, leastGrowth)
	}
}

// TestOverloadIsLong checks that a process counts as overloaded only after it was busy for long and collected much, and until it is
// less busy.
func TestOverloadIsLong(t *testing.T) {
	var o overload
	var at cpuTimes
	polls := func(n int, idle, gc float64) (on int) {
		for range n {
			at.total, at.idle, at.gc = at.total+2, at.idle+idle, at.gc+gc
			if o.lasts(at) {
				on++
			}
		}
		return on
	}
	for _, step := range []struct {
		what           string
		polls          int
		idle, gc       float64 // seconds of two, before each poll
		want           int
		withoutAnother bool // then a poll without a collection
	}{
		{what: "a start", polls: startFor, gc: 1, want: 0},
		{what: "less work", polls: 1, idle: 1, want: 0},
		{what: "a moment of work", polls: overloadFor - 1, gc: 1, want: 0},
		{what: "less work", polls: 1, idle: 1, want: 0},
		{what: "work with few collections", polls: 30, gc: 0.1, want: 0},
		{what: "work with many", polls: 1, gc: 0.3, want: 1, withoutAnother: true},
		{what: "with more memory, there are few", polls: 50, gc: 0.05, want: 50},
		{what: "the end of the work", polls: 1, idle: 1.5, want: 0},
	} {
		if got := polls(step.polls, step.idle, step.gc); got != step.want {
			t.Errorf("%s: overloaded at %d polls, want %d", step.what, got, step.want)
		}
		if step.withoutAnother && !o.lasts(at) {
			t.Errorf("%s: without another collection, the overload ended", step.what)
		}
	}
}

func TestMemoryIsTheLeastLimit(t *testing.T) {
	const info = "MemTotal:       2097152 kB\nMemFree: 1 kB\n"
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  uint64
	}{
		{"nothing says it", nil, 0},
		{"the machine", map[string]string{"/proc/meminfo": info}, 2 << 30},
		{"a container", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		{"no limit", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"}, 2 << 30},
		{"a service", map[string]string{
			"/proc/meminfo": info, "/proc/self/cgroup": "1:name=systemd:/x\n0::/system.slice/rota.service\n",
			"/sys/fs/cgroup/system.slice/rota.service/memory.max": "max\n", "/sys/fs/cgroup/system.slice/memory.max": "1048576\n",
		}, 1 << 20},
		{"a container with hierarchies of their own", map[string]string{
			"/proc/meminfo": info, "/proc/self/cgroup": "4:cpu:/\n5:hugetlb,memory:/docker/x\n0::/\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
		}, 1 << 20},
		{"a service with hierarchies of their own, and no limit", map[string]string{
			"/proc/meminfo": info, "/proc/self/cgroup": "5:memory:/system.slice\n",
			"/sys/fs/cgroup/memory/system.slice/memory.limit_in_bytes": "9223372036854771712\n",
		}, 2 << 30},
	} {
		got := memoryLimit(func(path string) ([]byte, error) {
			if text, ok := tt.files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestMemoryIsGivenBackAtRest checks that a process returns the memory of its start once, soon after the start. A process that
// works keeps its memory.
func TestMemoryIsGivenBackAtRest(t *testing.T) {
	e := exertion{enough: 100 << 20}
	var allocated uint64
	looks := func(n int, each uint64) (freed int) {
		for range n {
			allocated += each
			if e.over(allocated) {
				freed++
			}
		}
		return freed
	}
	for _, step := range []struct {
		what  string
		looks int
		each  uint64 // bytes allocated before each poll
		want  int
	}{
		{"a start that reads much", 5, 200 << 20, 0},
		{"rest, not for long enough", restFor - 1, 100 << 10, 0},
		{"rest", 1, 100 << 10, 1},
		{"more rest", 100, 100 << 10, 0},
		{"work", 100, 50 << 20, 0},
		{"rest after work", 100, 100 << 10, 1},
		{"what a process allocates at rest adds up", 1500, 100 << 10, 1},
	} {
		if got := looks(step.looks, step.each); got != step.want {
			t.Errorf("%s: memory was given back %d times, want %d", step.what, got, step.want)
		}
	}
}
