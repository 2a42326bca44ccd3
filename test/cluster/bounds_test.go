package cluster

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestWaitingRunsAreBounded submits runs that no worker takes through three replicas at once. The bound of the job and the bound of
// all jobs are reached and not passed. After a worker has come, the refused submissions are accepted with the same keys.
func TestWaitingRunsAreBounded(t *testing.T) {
	row(t)
	t.Parallel()
	const most, all, clients = 25, 40, 24
	sink := NewSink(t)
	spec := job.Spec{
		HTTP: &job.HTTP{URL: sink.URL(), Method: "POST"}, Workers: map[string]string{"zone": "later"}, Overlap: job.OverlapAllow,
		MaxPending: most,
	}
	c := Start(t, Config{Binary: binary, Jobs: map[string]job.Spec{"pay": spec, "other": spec}, Flags: func(string) []string {
		return []string{fmt.Sprintf("--bounds-waiting=%d", all)}
	}})
	var mu sync.Mutex
	accepted, refused := map[string]int{}, map[string][]string{}
	var wg sync.WaitGroup
	for i := range clients {
		replica := c.Replicas()[i%3]
		wg.Go(func() {
			for n := range 4 {
				name, key := "pay", fmt.Sprintf("%d-%d", i, n)
				if n == 3 {
					name = "other"
				}
				err := submitOnce(t, replica, name, key)
				mu.Lock()
				if err == nil {
					accepted[name]++
				} else {
					refused[name] = append(refused[name], key)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if accepted["pay"] != most || accepted["pay"]+accepted["other"] > all {
		t.Errorf("accepted %v, want %d of pay and at most %d in all", accepted, most, all)
	}
	waiting := 0
	for r, err := range c.Leader().Client.AllRuns(t.Context(), client.RunFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.State == job.Pending {
			waiting++
		}
	}
	if waiting != accepted["pay"]+accepted["other"] {
		t.Errorf("%d runs wait, want the %v that were accepted", waiting, accepted)
	}
	c.AddWorker("late", "--worker-labels=zone=later")
	for name, keys := range refused {
		for i, key := range keys {
			Await(t, 20*time.Second, key+" is accepted", func() bool { return submitOnce(t, c.Replicas()[i%3], name, key) == nil })
		}
	}
	Await(t, 20*time.Second, "each submission has run once", func() bool { return len(sink.Requests()) == clients*4 })
}

// submitOnce sends one submission. It returns an error if the replica refused it with a time to retry.
func submitOnce(t *testing.T, n *Node, name, key string) error {
	_, _, err := n.Client.Submit(t.Context(), name, api.RunRequest{Key: key})
	var problem *client.Error
	if errors.As(err, &problem) && problem.Status == 503 && problem.RetryAfter > 0 {
		return err
	}
	if err != nil {
		t.Error(err)
	}
	return nil
}
