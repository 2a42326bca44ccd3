package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

var spanPart = regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([a-zA-Zµ]*)\s*`)

var spanUnits = map[string]time.Duration{
	"": time.Second, "s": time.Second, "sec": time.Second, "second": time.Second, "seconds": time.Second,
	"us": time.Microsecond, "µs": time.Microsecond, "usec": time.Microsecond, "ms": time.Millisecond, "msec": time.Millisecond,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// parseSpan reads a time span of systemd, such as 90 or 1h 30min. For infinity it returns 0.
func parseSpan(text string) (time.Duration, error) {
	if text == "infinity" {
		return 0, nil
	}
	var total time.Duration
	for rest := strings.TrimSpace(text); rest != ""; {
		m := spanPart.FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("%q is no span of time", text)
		}
		unit, ok := spanUnits[m[2]]
		n, err := strconv.ParseFloat(m[1], 64)
		if !ok || err != nil {
			return 0, fmt.Errorf("%q is no span of time", text)
		}
		total += time.Duration(n * float64(unit))
		rest = rest[len(m[0]):]
	}
	return total, nil
}

// bounds translates limits of run time, memory, CPU and the number of processes.
func (s *systemd) bounds(spec *job.Spec) {
	service := &translation{s.service.file, s.res}
	span := func(otherwise job.Duration, keys ...string) job.Duration {
		e := s.service.last("Service", keys...)
		if e.text == "" {
			return otherwise
		}
		d, err := parseSpan(e.text)
		if err != nil {
			service.lost(e.line, "%s=%s: %v", e.key, e.text, err)
			return otherwise
		}
		return job.Duration(d)
	}
	// A oneshot service is starting while it runs, and RuntimeMaxSec has no effect on it. A service of another type has started as
	// soon as its program runs, so the time to start does not bound the run.
	if s.service.last("Service", "Type").text == "oneshot" {
		spec.Timeout = span(0, "TimeoutSec", "TimeoutStartSec")
	} else {
		spec.Timeout = span(0, "RuntimeMaxSec")
	}
	spec.KillGrace = s.killGrace(span(defaultStop, "TimeoutSec", "TimeoutStopSec"))
	var r job.Resources
	if e := s.service.last("Service", "MemoryMax"); e.text != "" && e.text != "infinity" {
		size, err := job.ParseSize(binarySize(e.text))
		if err != nil {
			service.lost(e.line, "MemoryMax=%s: write it in MiB", e.text)
		}
		r.Memory = size
	}
	if e := s.service.last("Service", "CPUQuota"); e.text != "" {
		percent, err := strconv.Atoi(strings.TrimSuffix(e.text, "%"))
		if err != nil {
			service.lost(e.line, "CPUQuota=%s is no percentage", e.text)
		}
		r.CPU = job.CPUs(percent * 10)
	}
	if e := s.service.last("Service", "TasksMax"); e.text != "" && e.text != "infinity" {
		n, err := strconv.Atoi(e.text)
		if err != nil {
			service.lost(e.line, "TasksMax=%s is no number", e.text)
		}
		r.PIDs = n
	}
	if r != (job.Resources{}) {
		spec.Resources = &r
	}
}

// defaultStop is the time that systemd gives a service to stop, unless the machine has another default.
const defaultStop = job.Duration(90 * time.Second)

// killGrace translates the time that a service has to stop. 0 means that it has no end.
func (s *systemd) killGrace(stop job.Duration) job.Duration {
	e, most := s.service.last("Service", "TimeoutSec", "TimeoutStopSec"), job.KillGraceRange.High
	if stop > 0 && stop <= most {
		return stop
	}
	(&translation{s.service.file, s.res}).note(e.line, "%s=%s: rota waits for at most %v before it kills", e.key, e.text, most)
	return most
}

// binarySize converts a size of systemd into rota's form. In systemd K, M, G and T are powers of 1024.
func binarySize(text string) string {
	if text != "" && strings.ContainsAny(text[len(text)-1:], "KMGT") {
		return text + "iB"
	}
	return kib(text, 1)
}
