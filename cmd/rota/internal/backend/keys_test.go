package backend

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/mem"
)

// wallClock is the clock of a process whose clock is right.
type wallClock struct{ measured }

func (wallClock) Now(context.Context) (time.Time, error) { return time.Now().UTC(), nil }

// inMemory returns a backend with a store in memory. No replica leads, so no run starts.
func inMemory(t *testing.T) *Backend {
	server := mem.New(mem.Config{})
	s := store.New(store.Config{Prefix: "/rota", Process: "q1"}, server.Client(), hclog.NewNullLogger())
	m := store.NewMirror(s)
	ctx, stop := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = m.Follow(ctx) })
	t.Cleanup(func() {
		stop()
		tasks.Wait()
		s.Close()
		_ = server.Close()
	})
	b := New(Config{Now: time.Now, Space: unbounded{}, Admission: admitted{}, Bounds: config.Bounds{Waiting: 1000, Jobs: 1000, Space: 80}})
	b.Open(Sources{Client: server.Client(), Store: s, Mirror: m, Clocks: wallClock{}})
	if err := m.WaitFor(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return b
}

type unbounded struct{ Space }

func (unbounded) Used() (used, quota int64)            { return 0, 0 }
func (unbounded) Fill() (size, quota int64, full bool) { return 0, 0, false }

type admitted struct{ Admission }

func (admitted) Restored() *store.RestoredError { return nil }

// define creates or replaces a job.
func (b *Backend) define(t *testing.T, name, text string) {
	t.Helper()
	if _, _, err := b.Put(t.Context(), api.KindJob, name, []byte(text), api.Precondition{}, "me"); err != nil {
		t.Fatal(err)
	}
}

// start submits a run of a job.
func (b *Backend) start(t *testing.T, name, key string, workflow bool) (api.RunView, error) {
	now := time.Now().UTC()
	v, _, err := b.Submit(t.Context(), api.Submission{Job: name, Kind: job.KindManual, Asked: now, Due: now, Key: key, Workflow: workflow})
	return v, err
}

// A client that got no answer repeats its request. The first request has made the run, so the answer is that run, whatever has
// happened to the job since.
func TestARetryIsAnsweredAgainAfterAChangeOfTheJob(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, b *Backend){
		"deleted": func(t *testing.T, b *Backend) {
			if err := b.Delete(t.Context(), api.KindJob, "pay", api.Precondition{}, "me"); err != nil {
				t.Fatal(err)
			}
		},
		"a new parameter": func(t *testing.T, b *Backend) {
			b.define(t, "pay", `{"command":["true"],"params":{"month":{"type":"string","required":true}}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := inMemory(t)
			b.define(t, "pay", `{"command":["true"]}`)
			old, err := b.start(t, "pay", "", false)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Cancel(t.Context(), "pay", old.ID, job.Cancel{At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			first, created, err := b.Retry(t.Context(), "pay", old.ID, "k", "me", false)
			if err != nil || !created {
				t.Fatalf("got created %v, %v", created, err)
			}
			change(t, b)
			again, created, err := b.Retry(t.Context(), "pay", old.ID, "k", "me", false)
			if err != nil || created || again.ID != first.ID {
				t.Errorf("got run %s, created %v, %v, want run %s", again.ID, created, err, first.ID)
			}
			if _, _, err := b.Retry(t.Context(), "pay", old.ID, "other", "me", false); !errors.As(err, new(*api.Refusal)) {
				t.Errorf("another key: got %v, want a refusal", err)
			}
		})
	}
}

// The runs of a workflow share an id, which follows from the key.
func TestAKeyOfAWorkflowIsNoKeyOfItsSteps(t *testing.T) {
	b := inMemory(t)
	b.define(t, "build", `{"command":["true"]}`)
	b.define(t, "test", `{"command":["true"],"after":["build"]}`)
	if _, err := b.start(t, "build", "k", true); err != nil {
		t.Fatal(err)
	}
	if _, err := b.start(t, "test", "k", false); !errors.As(err, new(*api.Invalid)) {
		t.Errorf("the key of a workflow, for a step: got %v, want it refused as invalid", err)
	}
	if _, err := b.start(t, "test", "step", false); err != nil {
		t.Fatal(err)
	}
	if _, err := b.start(t, "build", "step", true); !errors.As(err, new(*api.Invalid)) {
		t.Errorf("the key of a step, for a workflow: got %v, want it refused as invalid", err)
	}
}

// A process whose copy of the store is old takes a job for deleted. It must not start the workflow, whose steps it has not checked.
func TestASubmissionForAnEarlierRunMakesNone(t *testing.T) {
	b := inMemory(t)
	b.define(t, "build", `{"command":["true"]}`)
	now := time.Now().UTC()
	s := api.Submission{Job: "build", Kind: job.KindManual, Asked: now, Due: now, Key: "k", Workflow: true, Earlier: true}
	if v, _, err := b.Submit(t.Context(), s); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("without an earlier run: got %s, %v", v.Ref, err)
	}
	first, err := b.start(t, "build", "k", true)
	if err != nil {
		t.Fatal(err)
	}
	if v, created, err := b.Submit(t.Context(), s); err != nil || created || v.Ref != first.Ref {
		t.Errorf("with an earlier run: got %s, created %v, %v; want %s", v.Ref, created, err, first.Ref)
	}
}

func TestAResumptionIsAnsweredAgainAfterAChangeOfTheJob(t *testing.T) {
	b := inMemory(t)
	b.define(t, "pay", `{"command":["true"]}`)
	b.define(t, "tell", `{"command":["true"],"after":["pay"]}`)
	old, err := b.start(t, "pay", "", true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(t.Context(), "pay", old.ID, job.Cancel{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	step, err := b.store.Run(t.Context(), "tell", old.ID)
	if err != nil {
		t.Fatal(err)
	}
	step.State, step.Finished, step.Due = job.Skipped, time.Now().UTC(), time.Now().UTC() // as the leader does
	if step, err = b.store.Write(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	if err := b.mirror.WaitFor(t.Context(), step.Rev); err != nil {
		t.Fatal(err)
	}
	first, created, err := b.Retry(t.Context(), "pay", old.ID, "k", "me", true)
	if err != nil || !created {
		t.Fatalf("got created %v, %v", created, err)
	}
	plain, _, err := b.Retry(t.Context(), "pay", old.ID, "plain", "me", false)
	if err != nil {
		t.Fatal(err)
	}
	b.define(t, "pay", `{"command":["true"],"params":{"month":{"type":"string","required":true}}}`)
	again, created, err := b.Retry(t.Context(), "pay", old.ID, "k", "me", true)
	if err != nil || created || again.ID != first.ID {
		t.Errorf("got run %s, created %v, %v, want run %s", again.ID, created, err, first.ID)
	}
	if got, _, err := b.Retry(t.Context(), "pay", old.ID, "plain", "me", true); !errors.As(err, new(*api.Refusal)) {
		t.Errorf("the key of a plain retry, %s: got %s, %v, want a refusal", plain.ID, got.ID, err)
	}
}
