package importer

import (
	"math"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// memorySize converts a quantity of Kubernetes, such as 512Mi or 500M, into rota's form.
func memorySize(text string) string {
	for i, suffix := range []string{"k", "M", "G", "T"} {
		if digits, ok := strings.CutSuffix(text, suffix); ok {
			return kib(digits, math.Pow10(3*(i+1)))
		}
	}
	if digits := strings.TrimRight(text, "0123456789"); digits == "" {
		return kib(text, 1)
	}
	return text
}

// kib converts a number of units into a text in KiB, rounded down. unit is the size of a unit in bytes.
func kib(digits string, unit float64) string {
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return digits
	}
	return strconv.FormatInt(int64(n*unit/1024), 10) + "KiB"
}

// resources copies the limits of a container.
func (t *translation) resources(limits *fields, s *job.Spec) {
	var r job.Resources
	if text := limits.text("memory"); text != "" {
		size, err := job.ParseSize(memorySize(text))
		if err != nil {
			t.lost(limits.lineOf("memory"), "memory %s: %v", text, err)
		}
		r.Memory = size
	}
	if text := limits.text("cpu"); text != "" {
		cpus, err := job.ParseCPUs(text)
		if err != nil {
			t.lost(limits.lineOf("cpu"), "cpu %s: %v", text, err)
		}
		r.CPU = cpus
	}
	limits.rest()
	if r != (job.Resources{}) {
		s.Resources = &r
	}
}
