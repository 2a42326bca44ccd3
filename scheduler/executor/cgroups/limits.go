package cgroups

// The controllers that this package knows.
const (
	CPU    = "cpu"
	Memory = "memory"
	PIDs   = "pids"
)

// known lists them, sorted.
func known() []string { return []string{CPU, Memory, PIDs} }

// Limits is what a tree of processes may use together. Zero stands for no limit.
type Limits struct {
	Memory int64 // bytes, swap included; a tree that needs more has processes killed
	CPU    int   // thousandths of one CPU, at least 10
	PIDs   int   // processes and threads that exist at a time
}

// Controllers lists what it takes to set these limits, sorted.
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
