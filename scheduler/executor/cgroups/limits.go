package cgroups

// Controllers that this package knows.
const (
	CPU    = "cpu"
	Memory = "memory"
	PIDs   = "pids"
)

// known returns the controllers that this package knows, sorted.
func known() []string { return []string{CPU, Memory, PIDs} }

// Limits limits what a process tree may use together. Zero means no limit.
type Limits struct {
	Memory int64 // bytes, with swap; the kernel kills processes of a tree that needs more
	CPU    int   // thousandths of one CPU, at least 10
	PIDs   int   // processes and threads at a time
}

// Controllers returns the controllers that these limits need, sorted.
func (l Limits) Controllers() (list []string) {
	if l.CPU > 0 {
		list = append(list, CPU)
	}
	if l.Memory > 0 {
		list = append(list, Memory)
	}
	if l.PIDs > 0 {
		list = append(list, PIDs)
	}
	return list
}
