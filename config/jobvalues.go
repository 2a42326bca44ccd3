package config

import (
	"fmt"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/schedule"
	"go.yaml.in/yaml/v4"
)

// expression is the kind of a cron expression. Package schedule checks it.
var expression = kind[string]{
	name: "cron expression", schema: object{"type": "string", "minLength": 1, "maxLength": schedule.MaxExpression},
	read: func(r *reader, n *yaml.Node, what string) string { return r.required(n, what, maxText) },
}

// date is the kind of a calendar day. Package schedule checks it.
var date = kind[string]{
	name: "date", limits: "YYYY-MM-DD", schema: object{"type": "string", "pattern": datePattern},
	read: func(r *reader, n *yaml.Node, what string) string {
		text, _ := r.scalar(n, what, "a date")
		return text
	},
}

// jitter is the kind of a duration that is less than an upper bound.
var jitter = kind[job.Duration]{
	name: "duration", limits: fmt.Sprintf("0s to less than %v", job.JitterRange.High+1), schema: ref("duration"),
	read: func(r *reader, n *yaml.Node, what string) job.Duration {
		d := r.duration(n, what, job.Range[job.Duration]{High: job.MaxDuration})
		if d > job.JitterRange.High {
			r.fail(n, "such as 30s, 10m or 1h30m", "%s %v is not less than %v", what, d, job.JitterRange.High+1)
		}
		return d
	},
}

// ratio is the kind of a number that is above 0 and at most 1.
var ratio = kind[float64]{
	name: "number", limits: "more than 0, up to 1", schema: object{"type": "number", "exclusiveMinimum": 0, "maximum": 1},
	read: func(r *reader, n *yaml.Node, what string) float64 { return r.ratio(n, what) },
}

// memory is the kind of a size in bytes.
var memory = parsed("size", "size", job.MemoryRange,
	object{"type": "string", "pattern": sizePattern, "examples": []string{"512MiB", "2GiB"}}, job.ParseSize, sizeHint)

// cpus is the kind of a number of CPUs.
var cpus = parsed("number of CPUs", "number", job.CPURange,
	object{"type": []string{"string", "number"}, "pattern": cpuPattern, "examples": []string{"1", "0.5", "500m"}}, job.ParseCPUs,
	func(string) string { return `such as "2", "0.5" or 500m, which is half a CPU` })

// retryOn is the kind of one end of an attempt that is retried.
var retryOn = kind[job.RetryOn]{
	name: "code", limits: "0 to 599, 1xx to 5xx, timeout",
	schema: object{"anyOf": []object{
		{"type": "integer", "minimum": 0, "maximum": 599}, {"type": "string", "pattern": "^(timeout|[1-5]xx|[0-9]{1,3})$"},
	}},
	read: func(r *reader, n *yaml.Node, what string) job.RetryOn {
		text, ok := r.scalar(n, what, "an exit code, an HTTP status or timeout")
		if !ok {
			return ""
		}
		on, err := job.ParseRetryOn(text)
		if err != nil {
			r.fail(n, "write an exit code such as 75, a status such as 429 or 5xx, or timeout", "%s: %v", what, err)
		}
		return on
	},
}

// checkRetry reports a mistake if the first delay of a retry is larger than the longest delay.
func checkRetry(r *reader, n *yaml.Node, retry *job.Retry, sound bool) {
	full := job.Spec{Retry: retry}.WithDefaults().Retry
	if sound && full.Min > full.MaxDelay {
		r.fail(child(n, "max_delay"), "write "+full.Min.String()+" or more",
			"retry.max_delay %v is shorter than retry.min %v", full.MaxDelay, full.Min)
	}
}

// retry checks that a job with the key retry has max. If only defaults has retry, and without max, the job has no retry. own is
// the job's mapping, and merged also has the defaults.
func (r *reader) retry(own, merged *yaml.Node, s *job.Spec) {
	if s.Retry == nil || child(child(merged, "retry"), "max") != nil {
		return
	}
	if child(own, "retry") != nil {
		r.failAbsent(keyOf(own, "retry"), "max", "add max: how many further attempts there may be", "retry has no max")
	}
	s.Retry = nil
}

// labels reads a mapping of labels to values, such as {zone: a}. A flag or a variable has the form zone=a,rack=1.
func (r *reader) labels(n *yaml.Node, what string) map[string]string {
	labels, hint := map[string]string{}, "write name: value"
	if n.Line == 0 && !r.src.json { // it comes from a flag or a variable
		hint = "such as zone=a,rack=1"
		if n.Kind == yaml.ScalarNode {
			r.fail(n, hint, "%s must be name=value, by commas, not %s", what, r.kindOf(n))
			return nil
		}
	}
	r.pairs(n, what, func(key, value *yaml.Node) {
		s, ok := r.scalar(value, fmt.Sprintf("%s label %s", what, quote(key.Value)), "a text")
		switch {
		case !ok:
		case key.Value == "":
			r.fail(key, hint, "%s has a label without a name", what)
		default:
			labels[key.Value] = r.limited(value, what, s, maxDescription)
		}
	})
	return entries(r, n, what, labels, maxEntries)
}

// jobLabels reads the labels of a job. They have the form of Kubernetes labels.
func (r *reader) jobLabels(n *yaml.Node, what string) map[string]string {
	labels := r.labels(n, what)
	r.pairs(n, what, func(key, value *yaml.Node) {
		text, known := labels[key.Value]
		if !known {
			return // labels reported it
		}
		if err := job.CheckLabel(key.Value, ""); err != nil {
			r.fail(key, "such as team or example.com/team", "%s: %v", what, err)
		} else if err := job.CheckLabel(key.Value, text); err != nil {
			r.fail(value, "such as billing", "%s: %v", what, err)
		}
	})
	return entries(r, n, what, labels, job.MaxLabels)
}

// entries returns a mapping that was read; nil if it is empty. It reports one with more than most entries.
func entries[V any](r *reader, n *yaml.Node, what string, read map[string]V, most int) map[string]V {
	if len(read) > most {
		r.fail(n, "remove some of them", "%s has %d entries, at most %d are allowed", what, len(read), most)
	}
	if len(read) == 0 {
		return nil
	}
	return read
}

// sizeHint returns a hint how to write a text that looks like a size.
func sizeHint(text string) string {
	digits := strings.TrimRight(text, "bBkKmMgGtTi ")
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return "such as 512MiB or 2GiB"
	}
	switch unit := strings.ToUpper(strings.TrimSpace(text[len(digits):])); {
	case unit == "" || unit == "B":
		return fmt.Sprintf("add a unit: %sMiB, or another of KiB, MiB, GiB and TiB", digits)
	case text == digits+unit[:1]+"i", text == digits+unit[:1]+"iB": // the unit is right, and the number is not
		return within("a size", job.MemoryRange)
	case strings.ContainsAny(unit[:1], "KMGT"):
		return fmt.Sprintf("write %s%siB: without the i it is a power of 1000 to some programs and of 1024 to others", digits, unit[:1])
	}
	return "such as 512MiB or 2GiB"
}
