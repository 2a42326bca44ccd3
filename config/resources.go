package config

import (
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

var resourceFields = []field[job.Resources]{
	{"memory", func(r *reader, n *yaml.Node, res *job.Resources) {
		text, ok := r.scalar(n, "memory", "a size")
		if !ok {
			return
		}
		size, err := job.ParseSize(text)
		switch {
		case err != nil:
			r.fail(n, sizeHint(text), "memory %s is not a size", quote(text))
		case !job.MemoryRange.Holds(size):
			r.fail(n, within("a size", job.MemoryRange), "memory %s is not between %v and %v", quote(text),
				job.MemoryRange.Low, job.MemoryRange.High)
		default:
			res.Memory = size
		}
	}},
	{"cpu", func(r *reader, n *yaml.Node, res *job.Resources) {
		text, ok := r.scalar(n, "cpu", "a number of CPUs")
		if !ok {
			return
		}
		cpus, err := job.ParseCPUs(text)
		switch {
		case err != nil:
			r.fail(n, `such as "2", "0.5" or 500m, which is half a CPU`, "cpu %s is not a number of CPUs", quote(text))
		case !job.CPURange.Holds(cpus):
			r.fail(n, within("a number", job.CPURange), "cpu %s is not between %v and %v", quote(text), job.CPURange.Low, job.CPURange.High)
		default:
			res.CPU = cpus
		}
	}},
	{"pids", func(r *reader, n *yaml.Node, res *job.Resources) { res.PIDs = r.count(n, "pids", job.PIDsRange) }},
}

func readResources(r *reader, n *yaml.Node, s *job.Spec) {
	var res job.Resources
	if readFields(r, n, "resources", resourceFields, nil, &res) && res != (job.Resources{}) {
		s.Resources = &res
	}
}

// sizeHint says how to write what looks like a size.
func sizeHint(text string) string {
	digits := strings.TrimRight(text, "bBkKmMgGtTi ")
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return "such as 512MiB or 2GiB"
	}
	switch unit := strings.ToUpper(strings.TrimSpace(text[len(digits):])); {
	case unit == "" || unit == "B":
		return fmt.Sprintf("add a unit: %sMiB, or another of KiB, MiB, GiB and TiB", digits)
	case strings.Contains("KMGT", unit[:1]):
		return fmt.Sprintf("write %s%siB: without the i it is a power of 1000 to some programs and of 1024 to others", digits, unit[:1])
	}
	return "such as 512MiB or 2GiB"
}
