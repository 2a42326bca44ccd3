package top

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// session is a State with what its Updates asked for.
type session struct {
	t *testing.T
	State
	last Effect
}

func begin(t *testing.T) *session {
	s := &session{t: t, State: New(func(err error) string { return "Sorry: " + err.Error() })}
	s.send(Resized{150, 20})
	return s
}

func (s *session) send(msgs ...any) {
	for _, m := range msgs {
		s.State, s.last = s.State.Update(m)
	}
}

// keys sends keys. After each, it answers the read that the key asked for.
func (s *session) keys(keys ...string) {
	for _, k := range keys {
		s.send(Key(k))
		if s.last.Read != nil {
			s.send(Got{Snapshot: snapshot(*s.last.Read)})
		}
	}
}

func (s *session) shows(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if view := ansi.Strip(s.View()); !strings.Contains(view, text) {
			s.t.Errorf("no %q in\n%s", text, view)
		}
	}
}

func (s *session) lacks(text string) {
	s.t.Helper()
	if view := ansi.Strip(s.View()); strings.Contains(view, text) {
		s.t.Errorf("%q in\n%s", text, view)
	}
}

// snapshot answers a query with a small cluster.
func snapshot(q Query) Snapshot {
	lag := 0.004
	s := Snapshot{Query: q, At: noon, Server: "http://q1:8470", Cluster: api.ClusterView{
		Leader: &api.LeaderView{Node: "q2", Term: 12}, LagSeconds: &lag,
		Members: []api.MemberView{{Name: "q1", State: "present"}, {Name: "q2", State: "present"}, {Name: "q3", State: "missing"}},
		Runs:    api.RunCounts{Running: 1, Waiting: 2, Hour: map[job.State]int{job.Succeeded: 8, job.Failed: 1}},
	}}
	runs := []api.RunView{
		api.NewRunView(job.Run{Job: "backup", ID: "c", State: job.Running, Attempt: 2, Worker: "q1", Started: noon.Add(-3 * time.Second),
			Attempts: []job.Attempt{{Number: 1, Worker: "q3", State: job.Lost, Reason: "worker q3 was lost", Started: noon.Add(-time.Minute), Finished: noon}}}),
		api.NewRunView(job.Run{Job: "backup", ID: "b", State: job.Failed, Attempt: 1, Worker: "q2", Started: noon.Add(-time.Hour), Finished: noon.Add(-59 * time.Minute), Reason: "exit code 3"}),
		api.NewRunView(job.Run{Job: "backup", ID: "a", State: job.Pending}),
	}
	switch q.Kind {
	case Jobs:
		next := noon.Add(90 * time.Second)
		for _, name := range []string{"backup", "charge", "report"} {
			v := api.JobView{Job: job.Job{Name: name, Spec: new((&job.Spec{Every: job.Duration(time.Minute)}).WithDefaults())}, ScheduleText: "every 1m", Next: &next}
			s.Jobs = append(s.Jobs, v)
		}
		s.Jobs[0].Active = []string{"backup/c"}
		s.Jobs[1].Paused = &job.Pause{At: noon}
		s.Jobs[2].Last = &api.LastRun{State: job.Failed, Finished: noon.Add(-time.Hour)}
		s.Running = map[string]bool{"backup": true}
	case Runs:
		s.Runs = runs
	case Workers:
		s.Workers = []api.WorkerView{{Worker: job.Worker{Name: "q1", Capacity: 8, Labels: map[string]string{"zone": "a"}}, Running: 1, Free: 7},
			{Worker: job.Worker{Name: "q2", Capacity: 8}}}
	case Limits:
		s.Limits = []api.LimitView{{Limit: job.Limit{Name: "database", Spec: job.LimitSpec{Concurrent: 2}}, Held: 2}}
	case OneRun:
		s.Run = &runs[0]
		s.Output = "one\ntwo\x1b[2J\nthree\n"
	}
	return s
}

func TestHealthIsOneSentence(t *testing.T) {
	s := begin(t)
	s.shows("Asking the cluster")
	fresh := snapshot(Query{})
	s.send(Got{fresh, true})
	if !s.last.Wait {
		t.Error("no pause follows a snapshot")
	}
	s.shows("All is well.", "leader q2 · term 12", "lag 4 ms", "2/3 members", "1 running, 2 waiting", "9 runs/h, 1 failed", "via q1:8470")
	fresh.Cluster.Attention = []attention.Item{{Text: "Job report fails."}, {Text: "x"}}
	s.send(Got{fresh, true})
	s.shows("2 things need attention: Job report fails.")
	fresh.Cluster.Leader = nil
	s.send(Got{fresh, true})
	s.shows("No leader: the cluster dispatches no runs.")
	fresh.Cluster.AgeSeconds = 14
	s.send(Got{fresh, true})
	s.shows("q1:8470 has not heard from the store for 14s: this may be that old.", "backup")
	s.send(Got{Snapshot{At: noon.Add(time.Second), Err: errors.New("token expired")}, true})
	s.shows("Old, of 12:00:00Z: Sorry: token expired", "backup") // the lists stay
	s.send(Got{snapshot(Query{}), true})
	s.shows("All is well.")
}

func TestEnterGoesDownAndEscGoesUp(t *testing.T) {
	s := begin(t)
	s.send(Got{snapshot(Query{}), false})
	s.shows("[1 Jobs]", "backup", "in 1m", "every 1m")
	s.keys("enter")
	s.shows("› backup", "backup/c", "exit code 3")
	s.keys("enter")
	s.shows("› backup/c", "running, attempt 2", "attempt 1  lost       on q3", "Output", "three")
	s.keys("esc", "esc")
	s.shows("[1 Jobs]", "charge")
	s.keys("esc")
	s.shows("[1 Jobs]")
	s.keys("3", "enter")
	s.shows("› runs on q1", "backup/c")
	s.lacks("backup/b") // it ran on q2
	s.keys("4")
	s.shows("[4 Limits]", "database")
	s.keys("tab")
	s.shows("[1 Jobs]")
	s.keys("shift+tab", "shift+tab")
	s.shows("[3 Workers]", "zone=a")
}

func TestFilterAndOrder(t *testing.T) {
	s := begin(t)
	s.send(Got{snapshot(Query{}), false})
	s.keys("/", "c", "h", "enter")
	s.shows("/ch", "charge")
	s.lacks("report")
	s.keys("enter")
	s.shows("› charge")
	s.keys("esc", "esc")
	s.shows("report")
	s.keys("/", "z", "z")
	s.shows("nothing matches /zz")
	s.keys("backspace", "backspace", "esc", "S")
	s.shows("JOB▼")
	if rows := s.rows(); rows[0].key != "report" {
		t.Errorf("the first row is %s, want report", rows[0].key)
	}
	s.keys("s")
	s.shows("STATE▲")
	s.keys("q")
	if !s.last.Quit {
		t.Error("q does not quit")
	}
}

func TestSelectionStaysOnItsRow(t *testing.T) {
	s := begin(t)
	s.send(Got{snapshot(Query{}), false})
	s.keys("down", "down", "down")
	if r, _ := s.selected(); r.key != "report" {
		t.Fatalf("selected %s, want report", r.key)
	}
	less := snapshot(Query{})
	less.Jobs = less.Jobs[1:]
	s.send(Got{less, false})
	if r, _ := s.selected(); r.key != "report" {
		t.Errorf("selected %s after a job vanished, want report", r.key)
	}
	s.keys("home")
	if r, _ := s.selected(); r.key != "charge" {
		t.Errorf("selected %s, want charge", r.key)
	}
}

func TestChangesAskFirst(t *testing.T) {
	for name, row := range map[string]struct {
		keys []string
		ask  string
		want Action
	}{
		"run":          {[]string{"down", "down", "r"}, "Run job report now?", Action{Verb: RunNow, Target: "report"}},
		"run active":   {[]string{"r"}, "A run of it is active: its policy for overlaps is skip", Action{Verb: RunNow, Target: "backup"}},
		"pause":        {[]string{"p"}, "Its 1 active run goes on.", Action{Verb: Pause, Target: "backup"}},
		"resume":       {[]string{"down", "p"}, "Resume job charge?", Action{Verb: Resume, Target: "charge"}},
		"cancel":       {[]string{"2", "c"}, "Attempt 2 runs on q1 and is stopped.", Action{Verb: Cancel, Target: "backup/c"}},
		"cancel early": {[]string{"2", "end", "c"}, "It is pending, and will not start.", Action{Verb: Cancel, Target: "backup/a"}},
		"retry":        {[]string{"2", "down", "t"}, "It failed; a new run of job backup starts.", Action{Verb: Retry, Target: "backup/b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin(t)
			s.send(Got{snapshot(Query{}), false})
			s.keys(row.keys...)
			s.shows(row.ask, "Press y for yes")
			no := *s
			no.keys("n")
			if no.last.Do != nil {
				t.Error("no makes the change")
			}
			no.shows("Nothing was changed.")
			s.send(Key("y"))
			if a := s.last.Do; a == nil || a.Verb != row.want.Verb || a.Target != row.want.Target {
				t.Fatalf("y asks for %+v, want %+v", a, row.want)
			}
			s.shows("Working: " + string(row.want.Verb))
			s.send(Done{Err: errors.New("conflict")})
			s.shows("Sorry: conflict")
			if s.last.Read == nil {
				t.Error("the list is not read again after a change")
			}
		})
	}
	s := begin(t)
	s.send(Got{snapshot(Query{}), false})
	s.keys("2", "down", "c")
	s.shows("Run backup/b has ended: failed.")
	s.keys("home", "t")
	s.shows("Run backup/c has not ended")
	s.keys("3", "p")
	s.shows("Key p does nothing here")
	s.keys("?")
	s.shows("rota top: keys")
	s.keys("x")
	s.lacks("rota top: keys")
}

func TestEveryViewFitsEveryTerminal(t *testing.T) {
	for _, size := range []Resized{{60, 15}, {20, 8}, {200, 50}, {1, 1}} {
		s := begin(t)
		s.send(size, Got{snapshot(Query{}), false})
		for _, k := range []string{"", "c", "n", "r", "n", "enter", "enter", "esc", "2", "3", "4", "?", "x", "/", "a", "esc"} {
			if k != "" {
				s.keys(k)
			}
			lines := strings.Split(s.View(), "\n")
			if len(lines) > max(size.Height, 8) {
				t.Errorf("%v after %q: %d lines", size, k, len(lines))
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w > max(size.Width, 20) {
					t.Errorf("%v after %q: a line has %d columns: %q", size, k, w, line)
				}
			}
		}
	}
}

func TestNarrowTerminalKeepsNamesAndStates(t *testing.T) {
	s := begin(t)
	s.send(Resized{60, 15}, Got{snapshot(Query{}), false})
	s.shows("backup", "running", "in 1m", "? help")
	s.keys("2")
	s.shows("backup/b", "failed", "1h ago")
}

func TestLateAnswerToAnotherScreenIsNotShown(t *testing.T) {
	s := begin(t)
	s.send(Got{snapshot(Query{}), false})
	s.send(Key("2"))
	s.send(Got{snapshot(Query{Kind: Jobs}), true})
	s.lacks("charge")
	s.send(Got{snapshot(Query{Kind: Runs}), false})
	s.shows("backup/b")
}
