package cgroups

// Controllers that this package knows.
const (
	CPU    = "cpu"
	Memory = "memory"
	PIDs   = "pids"
)

// known returns the controllers that this package knows, sorted.
func known() []string { return []string{CPU, Memory, PIDs} }

// Limits limits the total resources of a process tree. Zero means no limit.
type Limits struct {
	Memory int64 // bytes, including swap; if a tree needs more, the kernel kills processes of the tree
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
