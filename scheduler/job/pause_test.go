package job_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// minute returns the time n minutes after 02:00.
func minute(n int) time.Time { return time.Date(2026, 11, 21, 2, n, 0, 0, time.UTC) }

func paused(from, until int) job.PastPause {
	return job.PastPause{From: minute(from), Until: minute(until)}
}

// halt pauses and resumes a job and all jobs in turns, at the given minutes.
func halt(j job.Job, g job.Gate, minutes ...int) (job.Job, job.Gate) {
	for i, m := range minutes {
		var p *job.Pause
		if i%2 == 0 {
			p = &job.Pause{At: minute(m)}
		}
		j, _ = j.SetPause(p, minute(m))
		g, _ = g.SetPause(p, minute(m))
	}
	return j, g
}

func TestPauseHistory(t *testing.T) {
	for name, tt := range map[string]struct {
		minutes []int
		want    []job.PastPause
	}{
		"never paused":  {},
		"paused":        {minutes: []int{1}},
		"resumed":       {minutes: []int{1, 3}, want: []job.PastPause{paused(1, 3)}},
		"paused again":  {minutes: []int{1, 3, 5}, want: []job.PastPause{paused(1, 3)}},
		"resumed again": {minutes: []int{1, 3, 5, 6}, want: []job.PastPause{paused(1, 3), paused(5, 6)}},
		"too often": {
			minutes: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18},
			want: []job.PastPause{
				paused(1, 4), paused(5, 6), paused(7, 8), paused(9, 10), paused(11, 12), paused(13, 14), paused(15, 16), paused(17, 18),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, g := halt(job.Job{Since: minute(0), SinceReason: job.SinceCreated}, job.Gate{}, tt.minutes...)
			if diff := cmp.Diff(tt.want, j.PauseHistory()); diff != "" {
				t.Errorf("of a job (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, g.PauseHistory()); diff != "" {
				t.Errorf("of all jobs (-want +got):\n%s", diff)
			}
		})
	}
}

// A replica of an earlier build writes only the end of the last pause. It drops the other pauses in the record.
func TestPauseHistoryOfAnOlderVersion(t *testing.T) {
	j, g := halt(job.Job{SinceReason: job.SinceCreated}, job.Gate{}, 1, 3)
	j.Since, g.Since = minute(9), minute(9)
	want := []job.PastPause{{Until: minute(9)}}
	if diff := cmp.Diff(want, j.PauseHistory()); diff != "" {
		t.Errorf("of a job (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, g.PauseHistory()); diff != "" {
		t.Errorf("of all jobs (-want +got):\n%s", diff)
	}
}

func TestANewScheduleHasNoPausesBehindIt(t *testing.T) {
	j, _ := job.Define(nil, "j", job.Spec{Every: job.Duration(time.Minute), Shell: "true"}, job.Origin{}, minute(0))
	j, _ = halt(j, job.Gate{}, 1, 3)
	spec := *j.Spec
	spec.Shell = "false"
	if j, _ = job.Define(&j, "j", spec, job.Origin{}, minute(4)); len(j.PauseHistory()) != 1 {
		t.Errorf("after another change: got %v, want the pause", j.PauseHistory())
	}
	spec.Every = job.Duration(time.Hour)
	if j, _ = job.Define(&j, "j", spec, job.Origin{}, minute(5)); len(j.PauseHistory()) != 0 {
		t.Errorf("got %v", j.PauseHistory())
	}
}

// TestAnEditKeepsPauses checks that an edit of the schedule keeps the pauses whose slots the new jitter may move past the edit.
func TestAnEditKeepsPauses(t *testing.T) {
	j, _ := halt(job.Job{Created: minute(0), Spec: new(job.Spec{Every: job.Duration(time.Minute)})}, job.Gate{}, 1, 3, 10, 12)
	spec := job.Spec{Every: job.Duration(time.Hour), Jitter: job.Duration(10 * time.Minute)}
	next, _ := job.Define(&j, "j", spec, j.Origin, minute(15))
	if diff := cmp.Diff([]job.PastPause{paused(10, 12)}, next.PauseHistory()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
