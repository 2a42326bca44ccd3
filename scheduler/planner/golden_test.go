package planner_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/planner"
)

var update = flag.Bool("update", false, "write what the scripts print as what they have to print")

// TestScripts plays the scripts in testdata. A script is a list of blocks: commands, a line of dashes, and what the
// commands print. See testdata/README.md.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := gocmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s does not go as written (-written +played):\n%s", file, diff)
			}
		})
	}
}

// TestAWorkersClockDoesNotMatter plays the scripts with workers whose clocks are wrong: they write it into the records.
func TestAWorkersClockDoesNotMatter(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, skew := range []time.Duration{45 * time.Second, -45 * time.Second, 24 * time.Hour, -24 * time.Hour} {
		for _, file := range files {
			t.Run(skew.String()+"/"+strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				st := newStage(t)
				st.skew = skew
				if diff := gocmp.Diff(string(want), st.play(string(want))); diff != "" {
					t.Errorf("%s goes otherwise if the clocks of workers are %v ahead (-written +played):\n%s", file, skew, diff)
				}
			})
		}
	}
}

// play returns the script with what its commands print now. Each of watch is told of every decision that takes effect.
func play(t *testing.T, script string, watch ...func(*stage, job.Decision)) string {
	t.Helper()
	return newStage(t).play(script, watch...)
}

func (st *stage) play(script string, watch ...func(*stage, job.Decision)) string {
	st.t.Helper()
	st.store.onCommit = func(d job.Decision) {
		st.showEvent(d)
		for _, tell := range watch {
			tell(st, d)
		}
	}
	var out strings.Builder
	commands := true
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "----" && commands:
			out.WriteString("----\n" + st.printed())
			commands = false
		case line == "" || strings.HasPrefix(line, "#"):
			commands = true
			out.WriteString(line + "\n")
		case commands:
			out.WriteString(line + "\n")
			st.do(line)
		}
	}
	return out.String()
}

// stage is a cluster for a script: one store, one clock, at most one leader, workers who do as the script says.
type stage struct {
	t       *testing.T
	now     time.Time
	store   *fakeStore
	leader  *planner.Planner // nil: nobody leads
	fed     int              // changes of the store's log that the leader has been fed
	config  planner.Config
	workers map[string]*job.Worker
	auto    map[string]time.Duration // workers that begin at once and end after so long
	ends    map[string]time.Time     // when runs of those end
	skew    time.Duration            // how far the clocks of all workers are ahead
	shown   int                      // changes of the store's log that have been printed
	out     strings.Builder
}

var midnight = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func newStage(t *testing.T) *stage {
	st := &stage{
		t: t, now: midnight, store: newFakeStore(),
		workers: make(map[string]*job.Worker), auto: make(map[string]time.Duration), ends: make(map[string]time.Time),
	}
	return st
}

func (st *stage) printed() string {
	defer st.out.Reset()
	if st.out.Len() == 0 {
		return "(nothing)\n"
	}
	return st.out.String()
}

// do executes one command: a verb, names, and key=value pairs.
func (st *stage) do(line string) {
	st.t.Helper()
	var names []string
	opts := make(map[string]string)
	for _, word := range strings.Fields(line) {
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
		st.store.put(job.Change{Kind: job.RecordLimit, Name: name, Limit: &l})
	case "delete":
		st.store.deleteJob(name)
	case "pause":
		j, _ := st.store.job(name).Halt(&job.Pause{At: st.now}, st.now)
		st.store.putJob(j)
	case "resume":
		j, _ := st.store.job(name).Halt(nil, st.now)
		st.store.putJob(j)
	case "pause-all":
		g, _ := st.store.gate().Halt(&job.Pause{At: st.now}, st.now)
		st.store.put(job.Change{Kind: job.RecordGate, Gate: &g})
	case "resume-all":
		g, _ := st.store.gate().Halt(nil, st.now)
		st.store.put(job.Change{Kind: job.RecordGate, Gate: &g})
	case "worker":
		st.join(name, opts)
	case "lose":
		delete(st.workers, name)
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
	case "cancel":
		st.cancel(st.runID(name))
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
			if c.Kind == job.RecordCursor && c.Name == name && c.Cursor != nil {
				st.store.put(c)
				break
			}
		}
	case "runs":
		st.settle()
		st.showRuns(name)
		return
	default:
		st.t.Fatalf("unknown command %q", line)
	}
	st.settle()
}

func (st *stage) define(name string, opts map[string]string) {
	j := job.Job{Name: name, Created: st.now, Since: st.now, SinceReason: job.SinceCreated, SinceGeneration: 1, Scheduled: st.now}
	j.Spec = &job.Spec{Command: []string{"true"}}
	if old := st.store.job(name); old != nil {
		j = *old
		j.Spec = new(*old.Spec)
	}
	j.Generation++
	for key, value := range opts {
		switch key {
		case "every":
			j.Spec.Every = job.Duration(span(value))
		case "at":
			j.Spec.At = []time.Time{clock(value)}
		case "exclude":
			j.Spec.Exclude = strings.Split(value, ",")
		case "jitter":
			j.Spec.Jitter = job.Duration(span(value))
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
			j.Spec.Workers = map[string]string{"zone": value}
		case "memory":
			size, err := job.ParseSize(value)
			if err != nil {
				st.t.Fatal(err)
			}
			j.Spec.Resources = &job.Resources{Memory: size}
		default:
			st.t.Fatalf("job %s: unknown key %q", name, key)
		}
		if (key == "every" || key == "at" || key == "exclude") && j.Generation > 1 {
			j.Since, j.SinceReason, j.SinceGeneration, j.Scheduled, j.Pauses = st.now, job.SinceRescheduled, j.Generation, st.now, nil
			j.Jittered = &j.Spec.Jitter
		}
	}
	*j.Spec, j.Updated = j.Spec.WithDefaults(), st.now
	st.store.putJob(j)
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
	delete(st.auto, name)
	if d, ok := opts["takes"]; ok {
		st.auto[name] = span(d)
	}
	st.workers[name] = w
	st.store.putWorker(*w)
}

// advance moves the clock on, from one thing that happens to the next.
func (st *stage) advance(d time.Duration) {
	for end := st.now.Add(d); ; {
		next := end
		if st.leader != nil {
			if at, ok := st.leader.Next(); ok && at.After(st.now) && at.Before(next) {
				next = at
			}
		}
		for _, at := range st.ends {
			if at.Before(next) {
				next = at
			}
		}
		for _, r := range st.store.runs() {
			if _, auto := st.auto[r.Worker]; auto && r.State == job.Armed && r.Due.After(st.now) && r.Due.Before(next) {
				next = r.Due
			}
		}
		st.now = next
		st.settle()
		if !st.now.Before(end) {
			return
		}
	}
}

// settle lets the leader and the workers do what there is to do now.
func (st *stage) settle() {
	for round := 0; ; round++ {
		if round > 1000 {
			st.t.Fatalf("it never comes to rest:\n%s", st.out.String())
		}
		st.show()
		busy := st.work()
		if st.leader != nil {
			for ; st.fed < len(st.store.log); st.fed++ {
				st.leader.Apply(st.store.log[st.fed], st.now)
			}
			ds := st.leader.Plan(st.now, 100)
			if len(ds) > 0 {
				for i, a := range st.store.commit(st.store.term, ds) {
					st.leader.Resolve(ds[i], a, st.now)
				}
				busy = true
			}
		}
		if !busy {
			return
		}
	}
}

// work lets the workers that need no telling begin and end their runs.
func (st *stage) work() (busy bool) {
	for _, r := range st.store.runs() {
		takes, auto := st.auto[r.Worker]
		if w := st.workers[r.Worker]; !auto || w == nil || w.Session != r.Session {
			continue
		}
		switch ends := st.ends[r.Name()]; {
		case r.State == job.Armed && r.Due.After(st.now): // not yet
		case r.State == job.Armed:
			st.claim(r.Name())
			st.ends[r.Name()] = st.now.Add(takes)
			busy = true
		case r.State == job.Running && r.Cancel != nil:
			st.finish(r.Name(), "canceled", nil)
			busy = true
		case r.State == job.Running && !ends.After(st.now):
			st.finish(r.Name(), "succeeded", nil)
			busy = true
		}
	}
	for name := range st.ends {
		if r := st.store.run(name); r == nil || r.State != job.Running {
			delete(st.ends, name)
		}
	}
	return busy
}

func (st *stage) claim(name string) {
	next, err := st.mustRun(name).Claim(st.mustRun(name).Rev, st.now.Add(st.skew))
	if j := st.store.job(next.Job); j != nil {
		next.Bound = j.Spec.Bound()
	}
	st.write(next, err)
}

func (st *stage) finish(name, state string, opts map[string]string) {
	r := st.mustRun(name)
	o := job.Outcome{State: job.State(state), At: st.now.Add(st.skew), Reason: strings.ReplaceAll(opts["reason"], "_", " ")}
	if d, ok := opts["retry"]; ok {
		st.write(r.Again(o, st.now.Add(span(d)), "retry"))
		return
	}
	st.write(r.Finish(o))
}

func (st *stage) cancel(name string) {
	next, err := st.mustRun(name).Stop(job.Cancel{At: st.now, By: "somebody", Reason: "asked for"})
	if err != nil {
		st.out.WriteString(err.Error() + "\n")
		return
	}
	if err := st.store.stopRun(next); err != nil {
		st.t.Fatal(err)
	}
}

func (st *stage) submit(name string, opts map[string]string) {
	r := job.Run{
		Job: name, ID: opts["id"], Kind: job.KindManual, Slot: st.now, Due: st.now, State: job.Pending, Created: st.now,
		Key: opts["key"],
	}
	if d, ok := opts["in"]; ok {
		r.Kind, r.Due = job.KindDelayed, st.now.Add(span(d))
	}
	if name == job.AdHoc {
		r.Spec = &job.Spec{Command: []string{"true"}}
		if zone, ok := opts["zone"]; ok {
			r.Spec.Workers = map[string]string{"zone": zone}
		}
	}
	st.write(r, nil)
}

func (st *stage) write(r job.Run, err error) {
	st.t.Helper()
	if err == nil {
		_, err = st.store.writeRun(r)
	}
	if err != nil {
		st.t.Fatalf("write run %s: %v; what happened last:\n%s", r.Name(), err, st.out.String())
	}
}

func (st *stage) mustRun(name string) *job.Run {
	st.t.Helper()
	r := st.store.run(name)
	if r == nil {
		st.t.Fatalf("there is no run %s; what happened last:\n%s", name, st.out.String())
	}
	return r
}

// runID turns nightly/00:01:00 into the name of the run of that slot.
func (st *stage) runID(name string) string {
	prefix, id, _ := cutLast(name)
	if t, err := time.Parse(time.TimeOnly, id); err == nil {
		return prefix + "/" + job.SlotID(midnight.Add(t.Sub(t.Truncate(24*time.Hour))))
	}
	return name
}

// show prints what has been written since.
func (st *stage) show() {
	for ; st.shown < len(st.store.log); st.shown++ {
		switch c := st.store.log[st.shown]; {
		case c.Run != nil:
			st.print("%s", describe(c.Run))
		case c.Kind == job.RecordRun && c.Bad == nil:
			st.print("run %s removed", c.Name)
		}
	}
}

func (st *stage) showEvent(d job.Decision) {
	e := d.Event
	switch {
	case e == nil:
		return
	case e.From.Equal(e.To):
		st.print("skip %s/%s: %s", e.Job, job.SlotID(e.From), e.Reason)
	default:
		st.print("skip %s/%s to %s (%d): %s", e.Job, job.SlotID(e.From), job.SlotID(e.To), e.Count, e.Reason)
	}
}

func (st *stage) showRuns(name string) {
	for _, r := range st.store.runs() {
		if name == "" || r.Job == name {
			st.print("%s", describe(r))
		}
	}
}

func describe(r *job.Run) string {
	s := fmt.Sprintf("run %s %s", r.Name(), r.State)
	if r.State == job.Armed || r.State == job.Running {
		s += fmt.Sprintf(" on %s, attempt %d", r.Worker, r.Attempt)
	}
	if r.Late {
		s += ", late"
	}
	if r.Cancel != nil && !r.State.Terminal() {
		s += ", to be canceled"
	}
	if r.Reason != "" {
		s += ": " + r.Reason
	}
	return s
}

func (st *stage) print(format string, args ...any) {
	text := strings.NewReplacer("2026-11-21T", "", "2026-", "").Replace(fmt.Sprintf(format, args...))
	day := ""
	if n := int(st.now.Sub(midnight) / (24 * time.Hour)); n > 0 {
		day = fmt.Sprintf("%dd ", n)
	}
	fmt.Fprintf(&st.out, "%s%s %s\n", day, st.now.Format("15:04:05.999"), text)
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

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func rate(s string) job.Rate {
	r, _ := job.ParseRate(s)
	return r
}

func clock(s string) time.Time {
	t, _ := time.Parse(time.TimeOnly, s)
	return midnight.Add(t.Sub(t.Truncate(24 * time.Hour)))
}

func TestScriptsExistForEveryPolicy(t *testing.T) {
	var names []string
	for _, m := range job.MissedPolicies() {
		names = append(names, "missed_"+string(m))
	}
	for _, o := range job.OverlapPolicies() {
		names = append(names, "overlap_"+string(o))
	}
	for _, d := range job.Deliveries() {
		names = append(names, "delivery_"+string(d))
	}
	for _, name := range names {
		if _, err := os.Stat("testdata/" + name + ".txt"); err != nil {
			t.Errorf("no script tells of %s: %v", name, err)
		}
	}
}
