package planner_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

// do executes one command: a verb, names, and key=value pairs.
func (st *stage) do(line string) {
	st.t.Helper()
	var names []string
	opts := make(map[string]string)
	for word := range strings.FieldsSeq(line) {
		if k, v, ok := strings.Cut(word, "="); ok {
			opts[k] = v
		} else {
			names = append(names, word)
		}
	}
	name := ""
	if len(names) > 1 {
		name = names[1]
	}
	switch names[0] {
	case "arm-ahead":
		st.config.ArmAhead = span(name)
	case "retention":
		st.config.Retention = planner.Retention{Success: number(opts["success"]), Failed: number(opts["failed"]), MaxAge: span(opts["max_age"])}
	case "job":
		st.define(name, opts)
	case "limit":
		l := job.Limit{Name: name, Generation: 1, Updated: st.now, Spec: job.LimitSpec{Concurrent: number(opts["concurrent"]), Rate: rate(opts["rate"])}}
		st.store.put(job.Change{Kind: job.RecordLimit, Name: name, Value: &l})
	case "delete":
		st.store.deleteJob(name)
	case "pause":
		j, _ := st.store.job(name).SetPause(&job.Pause{At: st.now}, st.now)
		st.store.putJob(j)
	case "resume":
		j, _ := st.store.job(name).SetPause(nil, st.now)
		st.store.putJob(j)
	case "pause-all":
		g, _ := st.store.gate().SetPause(&job.Pause{At: st.now}, st.now)
		st.store.put(job.Change{Kind: job.RecordGate, Value: &g})
	case "resume-all":
		g, _ := st.store.gate().SetPause(nil, st.now)
		st.store.put(job.Change{Kind: job.RecordGate, Value: &g})
	case "backfill":
		b := job.Backfill{
			From: clock(opts["from"]), To: clock(opts["to"]), Order: job.BackfillOrder(cmp.Or(opts["order"], "asc")),
			Concurrency: max(1, number(opts["concurrency"])), By: "alice", Created: st.now,
		}
		if !st.store.orderBackfill(st.store.job(name), b) {
			st.t.Fatalf("%s: nothing can be backfilled", line)
		}
	case "stop-backfill":
		b := st.store.backfill(name).Stop("by alice", st.now)
		st.store.put(job.Change{Kind: job.RecordBackfill, Name: name, Value: &b})
	case "worker":
		st.join(name, opts)
	case "lose":
		st.store.endWorker(name)
		delete(st.workers, name)
	case "evict":
		st.store.remove(job.RecordWorker, name)
	case "lead":
		st.leader, st.fed = planner.New(st.config), len(st.store.log)
		st.store.term++
		for _, c := range st.store.snapshot() {
			st.leader.Apply(c, st.now)
		}
		st.leader.Lead(st.now)
	case "crash":
		st.leader = nil
	case "silent":
		st.leader.SetFeedLag(span(name))
	case "advance":
		st.advance(span(name))
	case "clock":
		st.now = st.now.Add(span(name))
	case "claim":
		st.claim(st.runID(name))
	case "recall":
		r := st.mustRun(st.runID(name))
		st.write(r.Recall("worker " + r.Worker + " is stopping"))
	case "finish":
		st.finish(st.runID(name), names[2], opts)
	case "submit":
		st.submit(name, opts)
	case "start":
		st.start(name, opts)
	case "continue":
		st.store.resume(st.mustRun(st.runID(name)), opts["id"], st.now)
	case "cancel":
		st.cancel(st.runID(name))
	case "approve", "reject":
		st.approve(st.runID(name), names[0] == "approve")
	case "garbage":
		st.store.putGarbage(split(st.runID(name)))
	case "remove":
		st.store.remove(split(st.runID(name)))
	case "restore":
		kind, key := split(st.runID(name))
		for _, c := range slices.Backward(st.store.log) {
			if c.Kind == kind && c.Name == key && c.Bad == nil {
				st.store.put(c)
				break
			}
		}
	case "rewind":
		for _, c := range st.store.log {
			if c.Kind == job.RecordCursor && c.Name == name && c.Value != nil {
				st.store.put(c)
				break
			}
		}
	case "put-ahead":
		st.store.put(job.Change{Kind: job.RecordCursor, Name: name, Value: &job.Cursor{Job: name, After: st.now.Add(24 * time.Hour), Generation: 1}})
	case "runs":
		st.runUntilIdle()
		st.showRuns(name)
		return
	default:
		st.t.Fatalf("unknown command %q", line)
	}
	st.runUntilIdle()
}

func (st *stage) define(name string, opts map[string]string) {
	j := job.Job{Spec: &job.Spec{Command: []string{"true"}}}
	if old := st.store.job(name); old != nil {
		j.Spec = new(*old.Spec)
	}
	for key, value := range opts {
		switch key {
		case "every":
			j.Spec.Every = job.Duration(span(value))
		case "at":
			j.Spec.At = []time.Time{clock(value)}
		case "exclude":
			j.Spec.Exclude = strings.Split(value, ",")
		case "calendar": // WEEKDAYS or WEEKDAYS:ELSE
			days, otherwise, _ := strings.Cut(value, ":")
			j.Spec.Calendar = &job.Calendar{On: "office", Weekdays: []string{days}, Else: otherwise}
		case "end":
			at := clock(value)
			j.Spec.End = &at
		case "finish-by":
			j.Spec.FinishBy = value
		case "jitter":
			j.Spec.Jitter = job.Duration(span(value))
		case "after": // PARENT or PARENT:WHEN, separated by commas
			j.Spec.After = nil
			for parent := range strings.SplitSeq(value, ",") {
				name, when, _ := strings.Cut(parent, ":")
				j.Spec.After = append(j.Spec.After, job.After{Job: name, When: job.When(when)})
			}
		case "params": // NAME:DEFAULT, or NAME if it is required, separated by commas
			j.Spec.Params = map[string]job.Param{}
			for param := range strings.SplitSeq(value, ",") {
				name, text, optional := strings.Cut(param, ":")
				if j.Spec.Params[name] = (job.Param{Required: true}); optional {
					j.Spec.Params[name] = job.Param{Default: &text}
				}
			}
		case "command":
			j.Spec.Command = []string{value}
		case "overlap":
			j.Spec.Overlap = job.Overlap(value)
		case "missed":
			j.Spec.Missed = job.Missed(value)
		case "missed_limit":
			j.Spec.MissedLimit = number(value)
		case "missed_window":
			j.Spec.MissedWindow = job.Duration(span(value))
		case "delivery":
			j.Spec.Delivery = job.Delivery(value)
		case "timeout":
			j.Spec.Timeout = job.Duration(span(value))
		case "kill_grace":
			j.Spec.KillGrace = job.Duration(span(value))
		case "retry":
			j.Spec.Retry = &job.Retry{Max: number(value), Jitter: job.JitterNone}
		case "start_within":
			j.Spec.StartWithin = job.Duration(span(value))
		case "approve": // NAME:WITHIN; both may be empty
			by, within, _ := strings.Cut(value, ":")
			j.Spec.Approve = &job.Approve{By: strings.Fields(by), Within: job.Duration(span(within))}
		case "priority":
			j.Spec.Priority = number(value)
		case "limits":
			j.Spec.Limits = strings.Split(value, ",")
		case "rate":
			j.Spec.Rate = rate(value)
		case "breaker": // window:ratio:open_for
			part := append(strings.Split(value, ":"), "", "")
			ratio, _ := strconv.ParseFloat(part[1], 64)
			j.Spec.Breaker = &job.Breaker{Window: number(part[0]), FailureRatio: ratio, OpenFor: job.Duration(span(part[2]))}
		case "zone":
			label(j.Spec, "zone", value)
		case "every-worker":
			label(j.Spec, job.EveryWorker, "true")
		case "memory":
			size, err := job.ParseSize(value)
			if err != nil {
				st.t.Fatal(err)
			}
			j.Spec.Resources = &job.Resources{Memory: size}
		default:
			st.t.Fatalf("job %s: unknown key %q", name, key)
		}
	}
	old := st.store.job(name)
	if next, changed := job.Define(old, name, *j.Spec, job.Origin{}, st.now); changed || old == nil {
		st.store.putJob(next)
	}
}

// label sets a label that workers need. The old labels belong to an earlier definition.
func label(s *job.Spec, name, value string) {
	labels := map[string]string{}
	maps.Copy(labels, s.Workers)
	labels[name], s.Workers = value, labels
}

func (st *stage) join(name string, opts map[string]string) {
	w := &job.Worker{Name: name, Session: fmt.Sprintf("s%d", st.store.rev+1), Capacity: 10, Started: st.now}
	if opts["session"] == "same" {
		w.Session = st.workers[name].Session
	}
	if c, ok := opts["capacity"]; ok {
		w.Capacity = number(c)
	}
	if zone, ok := opts["zone"]; ok {
		w.Labels = map[string]string{"zone": zone}
	}
	if limits, ok := opts["limits"]; ok {
		w.Limits = strings.Split(limits, "+")
	}
	w.Draining = opts["draining"] == "yes"
	if run, ok := opts["keeps"]; ok {
		w.Keeps = []string{st.runID(run)}
	}
	if kind, ok := opts["away"]; ok {
		w.Away = map[string]string{kind: "nothing answers"}
	}
	delete(st.auto, name)
	if d, ok := opts["takes"]; ok {
		st.auto[name] = span(d)
	}
	st.workers[name] = w
	st.store.putWorker(*w)
}

// runID turns a name such as nightly/00:01:00 into the name of the slot's run, and nightly/00:01:00.a into that of its copy.
func (st *stage) runID(name string) string {
	prefix, id, _ := cutLast(name)
	at, worker, isCopy := strings.Cut(id, ".")
	if t, err := time.Parse(time.TimeOnly, at); err == nil {
		name = prefix + "/" + job.SlotID(midnight.Add(t.Sub(t.Truncate(24*time.Hour))))
		if isCopy {
			name += "." + worker
		}
	}
	return name
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

func split(key string) (job.RecordKind, string) {
	kind, name, _ := strings.Cut(key, "/")
	return job.RecordKind(kind), name
}

func span(s string) time.Duration {
	d, _ := time.ParseDuration(cmp.Or(s, "0"))
	return d
}

func rate(s string) job.Rate {
	r, _ := job.ParseRate(s)
	return r
}
