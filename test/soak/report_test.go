package soak

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/history"
)

// lateness is how late the first attempts of slots reached their targets.
type lateness struct {
	inside, outside []time.Duration          // sorted
	latest          map[string]time.Duration // largest lateness by the fault near it
	worst           string                   // the latest slot outside of faults, and the fault before it
}

// measure reads the lateness of jobs whose runs do not wait for earlier runs. An effect before its slot is an error.
func measure(t *testing.T, effects []history.Effect, windows []window) (l lateness) {
	l.latest = make(map[string]time.Duration)
	var worst time.Duration
	first := make(map[string]history.Effect)
	for _, e := range effects {
		if f, known := first[e.Run]; !known || e.Arrived.Before(f.Arrived) {
			first[e.Run] = e
		}
	}
	for _, e := range first {
		slot, err := time.Parse(time.RFC3339Nano, strings.TrimPrefix(e.Run, e.Job+"/"))
		if err != nil || strings.Contains(e.Job, "queue") || strings.HasPrefix(e.Job, "shell-") {
			continue
		}
		d := e.Arrived.Sub(slot)
		if d < 0 {
			t.Errorf("%s was executed %v before its slot", e.Run, -d)
		}
		near := slices.IndexFunc(windows, func(w window) bool { return !slot.Before(w.from.Add(-time.Second)) && !slot.After(w.to) })
		if near < 0 {
			l.outside = append(l.outside, d)
			if d > worst {
				worst, l.worst = d, e.Run+", "+since(slot, windows)
			}
			continue
		}
		l.inside = append(l.inside, d)
		l.latest[windows[near].fault] = max(l.latest[windows[near].fault], d)
	}
	slices.Sort(l.inside)
	slices.Sort(l.outside)
	return l
}

// since returns the last fault before an instant.
func since(at time.Time, windows []window) string {
	for _, w := range slices.Backward(windows) {
		if w.to.Before(at) {
			return fmt.Sprintf("%v after %q", at.Sub(w.to.Add(-after)).Round(time.Millisecond), w.fault)
		}
	}
	return "before all faults"
}

// quantile returns a quantile of sorted durations; 0 if there are none.
func quantile(ds []time.Duration, p float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	return ds[int(p*float64(len(ds)-1))].Round(time.Millisecond)
}

// quantiles formats the quantiles of sorted durations.
func quantiles(ds []time.Duration) string {
	return fmt.Sprintf("%d slots, p50 %v, p99 %v, max %v", len(ds), quantile(ds, 0.5), quantile(ds, 0.99), quantile(ds, 1))
}

// tally formats counts by name.
func tally(counts map[string]int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "\n\t%3d  %s", counts[name], name)
	}
	return b.String()
}

// harm formats the faults and their effects on slots.
func harm(made map[string]int, l lateness) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(made)) {
		fmt.Fprintf(&b, "\n\t%3d  %-22s latest slot by %v", made[name], name, l.latest[name].Round(10*time.Millisecond))
	}
	return b.String()
}

// byRule counts violations by rule.
func byRule(vs []history.Violation) map[string]int {
	counts := make(map[string]int)
	for _, v := range vs {
		counts[v.Rule]++
	}
	return counts
}

// keep writes the logs, records and the picture, and returns their folder.
func keep(t *testing.T, c *cluster.Cluster, nodes []*cluster.Node, h history.History, v history.Verdict) string {
	//nolint:usetesting // The files must outlive the test.
	dir, err := os.MkdirTemp("", "rota-soak-")
	if err != nil {
		t.Error(err)
		return ""
	}
	for _, n := range nodes {
		save(t, filepath.Join(dir, n.Name+".log"), []byte(n.Log()))
	}
	var picture bytes.Buffer
	if err := history.Draw(&picture, h, v); err != nil {
		t.Error(err)
	}
	save(t, filepath.Join(dir, "history.svg"), picture.Bytes())
	jobs := make(map[string]bool)
	for _, v := range v.Violations {
		name, _, _ := strings.Cut(strings.TrimPrefix(v.What, "cursor "), "/")
		jobs[name] = true
	}
	for name := range c.Recorder.Open() {
		name, _, _ = strings.Cut(name, "/")
		jobs[name] = true
	}
	var records, faults, seen bytes.Buffer
	for _, v := range c.Recorder.Versions() {
		part := strings.Split(strings.TrimPrefix(v.Key, cluster.Prefix+"/"), "/")
		switch {
		case part[0] == "runs" || part[0] == "cursors" || part[0] == "jobs" || part[0] == "events":
			if len(part) > 1 && jobs[part[1]] {
				fmt.Fprintf(&records, "%d %s %s deleted=%t %s\n", v.Rev, v.Seen.UTC().Format(time.RFC3339Nano), v.Key, v.Deleted, v.Value)
			}
		case part[0] != "queues":
			fmt.Fprintf(&records, "%d %s %s deleted=%t %.300s\n", v.Rev, v.Seen.UTC().Format(time.RFC3339Nano), v.Key, v.Deleted, v.Value)
		}
	}
	for _, e := range h.Effects {
		if jobs[e.Job] {
			text, _ := json.Marshal(e)
			fmt.Fprintf(&seen, "%s\n", text)
		}
	}
	for _, f := range c.Faults() {
		fmt.Fprintf(&faults, "%v until %s\n", f, f.Until.UTC().Format(time.RFC3339Nano))
	}
	for _, v := range v.Violations {
		fmt.Fprintln(&faults, v)
	}
	save(t, filepath.Join(dir, "records"), records.Bytes())
	save(t, filepath.Join(dir, "effects"), seen.Bytes())
	save(t, filepath.Join(dir, "verdict"), faults.Bytes())
	return dir
}

func save(t *testing.T, path string, text []byte) {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Error(err)
	}
}

// undecided lists the jobs with undecided slots.
func undecided(c *cluster.Cluster, jobs map[string]job.Spec) (names []string) {
	for name, spec := range jobs {
		if !spec.Scheduled() {
			continue
		}
		vs := c.Recorder.VersionsOf("cursors/" + name)
		var cursor job.Cursor
		if len(vs) == 0 || json.Unmarshal(vs[len(vs)-1].Value, &cursor) != nil || !cursor.Next.IsZero() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
