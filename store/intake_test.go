package store

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// submission returns a submitted run.
func submission(name, id string) job.Run {
	return job.Run{
		Job: name, ID: id, Kind: job.KindManual, Slot: epoch, Due: epoch, State: job.Pending, Reason: job.ReasonNew, Created: epoch,
	}
}

// mostAwaiting returns the largest number of runs of a job that awaited their start at any revision; "" means all jobs.
func mostAwaiting(t *testing.T, s *Store, name string) (most int) {
	t.Helper()
	rev, err := s.Revision(within(t))
	if err != nil {
		t.Fatal(err)
	}
	_, log, err := s.Log(within(t), rev, math.MaxInt)
	if err != nil {
		t.Fatal(err)
	}
	awaiting := map[string]bool{}
	for _, batch := range log {
		for _, c := range batch {
			if c.Kind != job.RecordRun {
				continue
			}
			r := job.ValueOf[job.Run](c)
			if r != nil && r.AwaitsStart() && (name == "" || r.Job == name) {
				awaiting[c.Name] = true
			} else {
				delete(awaiting, c.Name)
			}
		}
		most = max(most, len(awaiting))
	}
	return most
}

func TestManyReplicasPassNoBound(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		const most, all = 40, 70
		ctx := within(t)
		var wg sync.WaitGroup
		var accepted, refused [3]int
		for replica := range 3 {
			s := open(t, c)
			m := following(t, s)
			catchUp(t, s, m)
			in := NewIntake(s, m, all)
			var mu sync.Mutex
			for client := range 8 {
				wg.Go(func() {
					for i := range 12 {
						r := submission(fmt.Sprint("job-", (client+i)%2), fmt.Sprintf("%d-%d-%d", replica, client, i))
						_, err := in.Submit(ctx, r, most)
						mu.Lock()
						switch {
						case err == nil:
							accepted[replica]++
						case errors.Is(err, job.ErrTooMany):
							refused[replica]++
						default:
							t.Error(err)
						}
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		s := open(t, c)
		for _, name := range []string{"job-0", "job-1"} {
			if got := mostAwaiting(t, s, name); got > most {
				t.Errorf("%d runs of %s waited, want at most %d", got, name, most)
			}
		}
		if got := mostAwaiting(t, s, ""); got != all {
			t.Errorf("%d runs waited, want all of the %d that may", got, all)
		}
		if n := accepted[0] + accepted[1] + accepted[2]; n != all || refused[0]+refused[1]+refused[2] != 3*8*12-all {
			t.Errorf("%d submissions were accepted, %d refused, want %d accepted", n, refused[0]+refused[1]+refused[2], all)
		}
	})
}

// TestStaleMirrorsPassNoBound submits through replicas whose mirrors stand still at the start, and through one that follows.
func TestStaleMirrorsPassNoBound(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		const most = 60
		var ins []*Intake
		for range 3 { // these mirrors stop after their first list
			s := open(t, c)
			ins = append(ins, NewIntake(s, stopped(t, s), 1_000_000))
		}
		s := open(t, c)
		m := following(t, s)
		catchUp(t, s, m)
		ins = append(ins, NewIntake(s, m, 1_000_000))
		accepted := 0
		for i := range 80 {
			ctx, cancel := contextWithTimeout(t, 30*time.Millisecond)
			if _, err := ins[rand.IntN(len(ins))].Submit(ctx, submission("pay", fmt.Sprint(i)), most); err == nil {
				accepted++
			}
			cancel()
		}
		for i := range most {
			_, err := ins[3].Submit(within(t), submission("pay", fmt.Sprint("last-", i)), most)
			if err == nil {
				accepted++
			} else if !errors.Is(err, job.ErrTooMany) {
				t.Fatal(err)
			}
		}
		if got := mostAwaiting(t, open(t, c), "pay"); got != most || accepted != most {
			t.Errorf("%d runs waited, %d were accepted, want %d", got, accepted, most)
		}
	})
}

func TestARefusedSubmissionIsAcceptedLater(t *testing.T) {
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		m := following(t, s)
		catchUp(t, s, m)
		in := NewIntake(s, m, 100)
		var first job.Run
		for i := range 4 {
			r, err := in.Submit(within(t), submission("pay", fmt.Sprint(i)), 4)
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				first = r
			}
		}
		gateKey := prefix + "/intake/pay"
		if value(t, c, gateKey) == "" {
			t.Fatal("the gate is open although the bound is reached")
		}
		var many *TooManyError
		if _, err := in.Submit(within(t), submission("pay", "late"), 4); !errors.As(err, &many) || many.Job != "pay" || many.Max != 4 {
			t.Fatalf("the fifth submission: got %v, want a TooManyError", err)
		}
		if value(t, c, prefix+"/runs/pay/late") != "" {
			t.Fatal("a refused submission was stored")
		}
		if _, err := in.Submit(within(t), submission("other", "0"), 4); err != nil {
			t.Errorf("another job: got %v, want it accepted", err)
		}
		// All runs but the last end, so the next submission opens the gate again.
		for i := range 4 {
			r, err := s.Run(within(t), "pay", fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				r, err = r.Stop(job.Cancel{At: epoch, Reason: "test"})
			} else {
				r = *given(&first, "q1")
				r, err = r.Claim(1, epoch)
				r.Rev = first.Rev
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write(within(t), r); err != nil {
				t.Fatal(err)
			}
		}
		catchUp(t, s, m)
		if _, err := in.Submit(within(t), submission("pay", "late"), 4); err != nil {
			t.Errorf("the same submission later: got %v, want it accepted", err)
		}
		if got := value(t, c, gateKey); got != "" {
			t.Errorf("the gate is still closed: %s", got)
		}
	})
}

func TestTheSameSubmissionFindsItsRunAtAClosedGate(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	m := following(t, s)
	catchUp(t, s, m)
	in := NewIntake(s, m, 100)
	for i := range 3 {
		if _, err := in.Submit(within(t), submission("pay", fmt.Sprint(i)), 4); err != nil {
			t.Fatal(err)
		}
	}
	got, err := in.Submit(within(t), submission("pay", "2"), 4)
	if !errors.Is(err, job.ErrConflict) || isUnknown(err) || got.Name() != "pay/2" {
		t.Errorf("got %s, %v, want the run and a conflict", got.Name(), err)
	}
}

// TestCountsEqualAScan compares the counts of a mirror with a scan of its records, while runs go through their lives.
func TestCountsEqualAScan(t *testing.T) {
	s := open(t, fake(t, nil).Client())
	m := following(t, s)
	catchUp(t, s, m)
	now := time.Now().UTC()
	rng := rand.New(rand.NewPCG(1, 2))
	live := map[string]job.Run{}
	worker := &job.Worker{Name: "q1", Session: "s"}
	step := func(r job.Run, n int) (job.Run, error) {
		switch n {
		case 0:
			return r.Assign(worker)
		case 1:
			return r.Claim(1, now)
		case 2:
			return r.Recall("worker q1 is draining")
		case 3:
			return r.Requeue(job.Outcome{State: job.Failed, At: now}, now, "retry 1 of 3")
		case 4:
			r.Armed = now.Add(-time.Duration(rng.IntN(30)) * time.Hour)
			r.Started = r.Armed.Add(time.Duration(rng.IntN(3)-1) * 100 * time.Hour) // the worker's clock is wrong
			return r.Finish(job.Outcome{State: job.Succeeded, At: r.Started})
		}
		r.Reason = []string{"paused", "no worker has room", "limit a is full (1 of 1)", job.ReasonNotYet}[rng.IntN(4)]
		return r, nil
	}
	for i := range 3000 {
		id := fmt.Sprint(rng.IntN(60))
		r, known := live[id]
		var err error
		if !known {
			r, err = s.Submit(within(t), submission(fmt.Sprint("job-", rng.IntN(3)), id))
		} else if r, err = step(r, rng.IntN(6)); err == nil {
			r, err = s.Write(within(t), r)
		} else {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		live[id] = r
		if i%100 == 0 {
			catchUp(t, s, m)
			compareCounts(t, m, now)
		}
	}
}

func compareCounts(t *testing.T, m *Mirror, now time.Time) {
	t.Helper()
	want := RunCounts{
		Phases: map[job.Phase]int{}, Waiting: map[string]int{}, Hour: map[job.State]int{}, Day: map[job.State]int{},
	}
	for _, r := range m.RunsThat(all) {
		phase := r.Phase()
		if phase == "" {
			if age := now.Unix() - r.Ended().Unix(); age < 3600 {
				want.Hour[r.State]++
				want.Day[r.State]++
			} else if age < 24*3600 {
				want.Day[r.State]++
			}
			continue
		}
		want.Phases[phase]++
		if phase == job.PhaseWaiting {
			want.Waiting[r.WaitsFor()]++
		}
		if r.AwaitsStart() {
			want.Awaits++
		}
	}
	if got := m.CountRuns(now); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("counts\n%v\nbut a scan gives\n%v", got, want)
	}
}
