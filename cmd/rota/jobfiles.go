package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/policy"
)

// loadJobs reads job files and directories. If the only path is "-", it reads stdin.
func (c *cli) loadJobs(paths []string) (*config.Set, error) {
	if !slices.Contains(paths, "-") {
		return config.LoadJobs(paths)
	}
	if len(paths) > 1 {
		return nil, usagef("- reads stdin, and does not combine with other paths")
	}
	text, err := c.readUpTo("-", config.MaxFile+1)
	if err != nil {
		return nil, fmt.Errorf("read stdin: %w", err)
	}
	return config.ParseJobs("stdin", text)
}

// definitions lists the jobs of a set by name.
func definitions(set *config.Set) []config.Definition {
	list := make([]config.Definition, 0, len(set.Jobs))
	for _, name := range slices.Sorted(maps.Keys(set.Jobs)) {
		list = append(list, set.Jobs[name])
	}
	return list
}

// upcoming returns the first n slots of a job after now. It returns none if the schedule is missing or invalid.
func upcoming(name string, spec *job.Spec, now time.Time, n int) []time.Time {
	slots := []time.Time{}
	s, err := policy.When(name, spec)
	if err != nil || s == nil {
		return slots
	}
	for slot, ok := s.Next(now); ok && len(slots) < n; slot, ok = s.Next(slot) {
		slots = append(slots, slot)
	}
	return slots
}

// scheduleOf returns the schedule of a job in one line. For a step it names the parents. "" means that the job runs on request.
func scheduleOf(s *job.Spec) string {
	switch {
	case len(s.Schedule) > 0:
		return strings.Join(s.Schedule, "; ")
	case s.Every != 0:
		return "every " + s.Every.String()
	case len(s.At) == 1:
		return "at " + stamp(s.At[0])
	case len(s.At) > 1:
		return fmt.Sprintf("at %s and %d more", stamp(s.At[0]), len(s.At)-1)
	case len(s.After) > 0:
		return "after " + job.ParentsText(s.After)
	}
	return ""
}
