package config

import (
	"fmt"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"go.yaml.in/yaml/v4"
)

// The limits of a job file. They are far beyond use and keep a job's record small enough for the store. What numbers may be
// says package job.
const (
	maxDescription = 1 << 10   // bytes
	maxText        = 64 << 10  // bytes of a shell script, an argument, a body or a value of env
	maxURL         = 8 << 10   // bytes
	maxPayload     = 256 << 10 // bytes of JSON; of what a program is told less: job.MaxToldPayload
	maxEntries     = 256       // entries of env, headers and workers
	maxArguments   = 1024      // of a command
)

// jobFields are the keys of a job, in the order in which they are written.
var jobFields = []field[job.Spec]{
	{"description", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.Description = r.text(n, "description", maxDescription)
	}},
	{"schedule", func(r *reader, n *yaml.Node, s *job.Spec) {
		r.items(n, "schedule", true, func(_ int, n *yaml.Node) {
			s.Schedule = append(s.Schedule, r.required(n, "schedule", maxText))
		})
	}},
	{"every", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.Every = r.span(n, "every", job.EveryRange)
	}},
	{"at", func(r *reader, n *yaml.Node, s *job.Spec) {
		r.items(n, "at", true, func(_ int, n *yaml.Node) {
			s.At = append(s.At, r.instant(n, "at"))
		})
	}},
	{"timezone", func(r *reader, n *yaml.Node, s *job.Spec) { s.Timezone = r.required(n, "timezone", maxText) }},
	{"dst", func(r *reader, n *yaml.Node, s *job.Spec) {
		var dst job.DST
		if readFields(r, n, "dst", dstFields, nil, &dst) && dst != (job.DST{}) {
			s.DST = &dst
		}
	}},
	{"start", func(r *reader, n *yaml.Node, s *job.Spec) { s.Start = r.bound(n, "start") }},
	{"end", func(r *reader, n *yaml.Node, s *job.Spec) { s.End = r.bound(n, "end") }},
	{"exclude", func(r *reader, n *yaml.Node, s *job.Spec) {
		r.items(n, "exclude", true, func(_ int, n *yaml.Node) {
			date, _ := r.scalar(n, "exclude", "a date")
			s.Exclude = append(s.Exclude, date)
		})
	}},
	{"jitter", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.Jitter = job.Duration(r.duration(n, "jitter", 0, job.MaxDuration.Std()))
		if s.Jitter > job.JitterRange.High {
			r.fail(n, "such as 30s, 10m or 1h30m", "jitter %v is not less than %v", s.Jitter, job.JitterRange.High+1)
		}
	}},
	{"missed", func(r *reader, n *yaml.Node, s *job.Spec) { s.Missed = choice(r, n, "missed", job.MissedPolicies()) }},
	{"missed_window", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.MissedWindow = r.span(n, "missed_window", job.MissedWindowRange)
	}},
	{"missed_limit", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.MissedLimit = r.count(n, "missed_limit", job.MissedLimitRange)
	}},
	{"overlap", func(r *reader, n *yaml.Node, s *job.Spec) { s.Overlap = choice(r, n, "overlap", job.OverlapPolicies()) }},
	{"delivery", func(r *reader, n *yaml.Node, s *job.Spec) { s.Delivery = choice(r, n, "delivery", job.Deliveries()) }},
	{"timeout", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.Timeout = r.span(n, "timeout", job.TimeoutRange)
	}},
	{"kill_grace", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.KillGrace = r.span(n, "kill_grace", job.KillGraceRange)
	}},
	{"heartbeat", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.Heartbeat = r.span(n, "heartbeat", job.HeartbeatRange)
	}},
	{"retry", readRetry},
	{"priority", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.Priority = r.count(n, "priority", job.PriorityRange)
	}},
	{"workers", func(r *reader, n *yaml.Node, s *job.Spec) { s.Workers = r.labels(n, "workers") }},
	{"notify", readNotify},
	{"limits", readLimits},
	{"rate", func(r *reader, n *yaml.Node, s *job.Spec) { s.Rate = r.rate(n, "rate") }},
	{"breaker", readBreaker},
	{"command", readCommand},
	{"shell", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.Shell = r.told(n, "shell", r.required(n, "shell", maxText))
	}},
	{"http", readHTTP},
	{"handler", func(r *reader, n *yaml.Node, s *job.Spec) { s.Handler = r.required(n, "handler", maxURL) }},
	{"env", readEnv},
	{"dir", func(r *reader, n *yaml.Node, s *job.Spec) { s.Dir = r.told(n, "dir", r.required(n, "dir", maxURL)) }},
	{"resources", readResources},
	{"payload", func(r *reader, n *yaml.Node, s *job.Spec) {
		s.Payload = r.json(n, "payload")
	}},
}

// notDefaults are the keys of a job that say what makes it this job and no other.
var notDefaults = map[string]bool{
	"description": true, "schedule": true, "every": true, "at": true,
	"command": true, "shell": true, "http": true, "handler": true, "payload": true,
}

// defaultFields are the keys of defaults.
func defaultFields() []field[job.Spec] {
	var fields []field[job.Spec]
	for _, f := range jobFields {
		if notDefaults[f.name] {
			continue
		}
		fields = append(fields, f)
	}
	return fields
}

var dstFields = []field[job.DST]{
	{"gap", func(r *reader, n *yaml.Node, d *job.DST) { d.Gap = string(choice(r, n, "gap", schedule.Gaps())) }},
	{"fold", func(r *reader, n *yaml.Node, d *job.DST) { d.Fold = string(choice(r, n, "fold", schedule.Folds())) }},
}

var retryFields = []field[job.Retry]{
	{"max", func(r *reader, n *yaml.Node, t *job.Retry) { t.Max = r.count(n, "retry max", job.RetryMaxRange) }},
	{"backoff", func(r *reader, n *yaml.Node, t *job.Retry) { t.Backoff = choice(r, n, "backoff", job.Backoffs()) }},
	{"min", func(r *reader, n *yaml.Node, t *job.Retry) {
		t.Min = r.span(n, "retry min", job.RetryDelayRange)
	}},
	{"max_delay", func(r *reader, n *yaml.Node, t *job.Retry) {
		t.MaxDelay = r.span(n, "max_delay", job.RetryDelayRange)
	}},
	{"jitter", func(r *reader, n *yaml.Node, t *job.Retry) {
		t.Jitter = choice(r, n, "retry jitter", job.RetryJitters())
	}},
}

func readRetry(r *reader, n *yaml.Node, s *job.Spec) {
	before := r.mistakes()
	var retry job.Retry
	if !readFields(r, n, "retry", retryFields, nil, &retry) || len(n.Content) == 0 {
		return
	}
	s.Retry = &retry
	full := job.Spec{Retry: &retry}.WithDefaults().Retry
	if r.mistakes() == before && full.Min > full.MaxDelay {
		r.fail(child(n, "max_delay"), "write "+full.Min.String()+" or more", "max_delay %v is shorter than min %v", full.MaxDelay, full.Min)
	}
}

// retry checks that a job which speaks of retries says how many. Defaults may leave that to the jobs: then those that
// say nothing have none.
func (r *reader) retry(own, merged *yaml.Node, s *job.Spec) {
	if s.Retry == nil || child(child(merged, "retry"), "max") != nil {
		return
	}
	if child(own, "retry") != nil {
		r.fail(keyOf(own, "retry"), "add max: how many further attempts there may be", "retry has no max")
	}
	s.Retry = nil
}

func (r *reader) bound(n *yaml.Node, what string) *time.Time {
	t := r.instant(n, what)
	if t.IsZero() {
		return nil
	}
	return &t
}

// labels reads a mapping of words to words, such as {zone: a}.
func (r *reader) labels(n *yaml.Node, what string) map[string]string {
	labels := map[string]string{}
	r.pairs(n, what, func(key, value *yaml.Node) {
		s, ok := r.scalar(value, fmt.Sprintf("%s label %s", what, quote(key.Value)), "a text")
		switch {
		case !ok:
		case key.Value == "":
			r.fail(key, "write name: value", "%s has a label without a name", what)
		default:
			labels[key.Value] = r.limited(value, what, s, maxDescription)
		}
	})
	r.tooMany(n, what, len(labels))
	if len(labels) == 0 {
		return nil
	}
	return labels
}

func (r *reader) tooMany(n *yaml.Node, what string, count int) {
	if count > maxEntries {
		r.fail(n, "remove some of them", "%s has %d entries, at most %d are allowed", what, count, maxEntries)
	}
}
