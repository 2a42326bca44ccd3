package importer

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
)

// translateUnits translates timers with their services. files has the lines of the unit files by name, both of timers and of
// services.
func translateUnits(files map[string][]numbered, timezone string, into *Result) {
	units := unitFiles{}
	var names []string
	for file, lines := range files {
		units[path.Base(file)] = parseUnit(file, lines)
		names = append(names, file)
	}
	slices.Sort(names)
	used := map[string]bool{}
	for _, file := range names {
		if (&translation{file, into}).stopped() {
			return
		}
		base, ok := strings.CutSuffix(path.Base(file), ".timer")
		if !ok {
			continue
		}
		if prefix, ok := strings.CutSuffix(base, "@"); ok {
			used[base+".service"] = true
			(&translation{file, into}).lost(0, "it is a template: import it as %s@NAME.timer for each of its instances", prefix)
			continue
		}
		timer, _ := units.find(path.Base(file))
		service := base + ".service"
		if other := timer.last("Timer", "Unit"); other.text != "" {
			service = other.text
		}
		s := systemd{translation: translation{file, into}, timer: timer}
		s.service, service = units.find(service)
		used[service] = true
		if s.service == nil {
			s.lost(0, "its service %s is missing: name that file, too", service)
			continue
		}
		s.translate(base, timezone)
	}
	for _, file := range names {
		if base := path.Base(file); !strings.HasSuffix(base, ".timer") && !used[base] {
			(&translation{file, into}).lost(0, "no timer starts it")
		}
	}
}

// systemd is the translation of one timer.
type systemd struct {
	translation
	timer, service *unit
}

func (s *systemd) translate(name, timezone string) {
	spec := job.Spec{Timezone: timezone, Missed: job.MissedNone, Overlap: job.OverlapSkip} // a service runs once at a time
	spec.Description = s.service.last("Unit", "Description").text
	s.when(&spec)
	s.what(&spec)
	s.bounds(&spec)
	s.rest(s.timer, "Timer", timerKeys...)
	s.rest(s.timer, "Unit", unitKeys...)
	s.rest(s.service, "Unit", unitKeys...)
	s.rest(s.service, "Service", serviceKeys...)
	s.add(0, name, onClockChanges(spec, schedule.GapSkip, schedule.FoldFirst))
}

// The keys that the importer reads, and the keys that it may drop because they do not change the work of the job.
var (
	timerKeys = []string{
		"OnCalendar", "Persistent", "RandomizedDelaySec", "AccuracySec", "Unit", "RemainAfterElapse", "FixedRandomDelay", "WakeSystem",
	}
	serviceKeys = []string{
		"Type", "ExecStart", "WorkingDirectory", "Environment", "User", "Group", "TimeoutStartSec", "TimeoutSec", "RuntimeMaxSec",
		"TimeoutStopSec", "MemoryMax", "CPUQuota", "TasksMax", "StandardOutput", "StandardError", "SyslogIdentifier", "Nice",
		"IOSchedulingClass", "IOSchedulingPriority", "CPUSchedulingPolicy", "RemainAfterExit", "KillMode",
	}
)

// unitKeys are keys that describe units or order them. The order only matters while a machine boots, and rota runs no job then.
var unitKeys = []string{"Description", "Documentation", "After", "Before", "Wants", "PartOf"}

// rest reports every key of a section that is not in known, or has a value that changes the work of the job.
func (s *systemd) rest(u *unit, section string, known ...string) {
	t := &translation{u.file, s.res}
	for _, e := range u.entries {
		switch {
		case e.section != section || e.text == "":
		case !slices.Contains(known, e.key):
			t.lost(e.line, "%s= has no translation", e.key)
		case differs(e) != "":
			t.lost(e.line, "%s=%s: %s", e.key, e.text, differs(e))
		}
	}
}

// differs says how rota differs from systemd for the value of a known key; "" if it does not.
func differs(e entry) string {
	switch value := strings.ToLower(e.text); e.key {
	case "WorkingDirectory", "Environment", "User", "Group":
		switch {
		case hasSpecifier(value):
			return "rota has no specifiers such as %i; write the value"
		case e.key == "WorkingDirectory" && strings.TrimPrefix(value, "-") == "~":
			return "rota has no sign for the home of a user; write its path"
		}
	case "Nice", "IOSchedulingClass", "IOSchedulingPriority", "CPUSchedulingPolicy":
		return "write nice, ionice or chrt before the command"
	case "StandardOutput", "StandardError":
		if value == "null" || strings.Contains(value, ":") {
			return "rota keeps the output of each run; redirect it in the command"
		}
	case "KillMode":
		if value == "process" || value == "none" {
			return "rota ends all processes of a run"
		}
	case "Type":
		if value == "forking" || value == "dbus" {
			return "a run of rota ends with its first process, and so do the others"
		}
	case "RemainAfterExit", "WakeSystem":
		if truth(value) {
			return "rota starts the job at each slot, and wakes no machine"
		}
	}
	return ""
}

// when translates the schedule of the timer.
func (s *systemd) when(spec *job.Spec) {
	machine := cmp.Or(spec.Timezone, "UTC") // of an expression without a zone
	expressions := s.timer.all("Timer", "OnCalendar")
	reported := func(e entry) bool { // by rest, such as OnBootSec
		return e.section == "Timer" && strings.HasPrefix(e.key, "On") && e.key != "OnCalendar" && e.text != ""
	}
	if len(expressions) == 0 && !slices.ContainsFunc(s.timer.entries, reported) {
		s.lost(0, "the timer has no OnCalendar, so nothing starts the job; write a schedule")
	}
	for _, e := range expressions {
		c, err := parseCalendar(e.text)
		if err != nil {
			s.lost(e.line, "OnCalendar=%s: %v", e.text, err)
			continue
		}
		s.res.MachineZone = s.res.MachineZone || c.zone == ""
		zone := cmp.Or(c.zone, machine)
		if at, ok := c.instant(zone); ok && at.IsZero() {
			s.lost(e.line, "OnCalendar=%s: this time never comes", e.text)
			continue
		} else if ok {
			spec.At = append(spec.At, at)
			continue
		}
		if len(spec.Schedule) > 0 && cmp.Or(spec.Timezone, "UTC") != zone {
			s.lost(e.line, "OnCalendar=%s: it is in %s, and a job has one time zone; define another job", e.text, zone)
			continue
		}
		if c.zone != "" {
			spec.Timezone = c.zone
		}
		if c.year != "*" {
			s.lost(e.line, "OnCalendar=%s: rota has no years in a schedule; use the keys start and end", e.text)
		}
		spec.Schedule = append(spec.Schedule, c.cron())
	}
	if len(spec.At) > 0 && len(spec.Schedule) > 0 {
		s.lost(0, "a job has either instants or a schedule: define another job for the instants")
		spec.At = nil
	}
	if truth(s.timer.last("Timer", "Persistent").text) {
		spec.Missed = job.MissedLatest
	}
	if e := s.timer.last("Timer", "RandomizedDelaySec"); e.text != "" {
		d, err := parseSpan(e.text)
		if err != nil {
			s.lost(e.line, "RandomizedDelaySec=%s: %v", e.text, err)
		}
		spec.Jitter = job.Duration(d)
		if d > 0 && !truth(s.timer.last("Timer", "FixedRandomDelay").text) {
			s.note(e.line, "RandomizedDelaySec: the delay of rota is fixed for each job")
		}
	}
}
