package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestUnreadableRecordsAreQuarantined(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := following(t, s)
	good := definition("good")
	if _, err := s.PutJob(within(t), good); err != nil {
		t.Fatal(err)
	}
	id := slot("j", 1).ID
	values := map[string]string{
		"empty": "", "garbage": "\x00\xff{", "null": "null", "a list": "[1]", "a number": "7", "an empty object": "{}",
		"huge":           `{"name":"` + strings.Repeat("x", maxRecord) + `"}`,
		"another record": `{"id":"e","kind":"skipped","job":"x","at":"2026-01-01T00:00:00Z","reason":"r"}`,
		"a later state":  `{"job":"j","id":"` + id + `","state":"dreaming"}`,
		"deep":           strings.Repeat("[", 20_000),
	}
	keys := []string{
		"jobs/j", "jobs/NOT A NAME", "jobs/a/b", "cursors/j", "runs/j/" + id, "runs/j", "runs/j/a/b", "workers/w", "replicas/r",
		"election/x", "events/j/e", "events/x", "queues/w/o", "gate", "files", "takeover", "era", "tombstones/jobs/j", "gate/x", "unknown", "unknown/x", "runs/", "jobs", "/", "//", "\xff",
	}
	for name, v := range values {
		t.Run(name, func(t *testing.T) {
			for _, k := range keys {
				put(t, c, prefix+"/"+k, v)
			}
			catchUp(t, s, m)
			var got []string
			for _, b := range m.Quarantine() {
				got = append(got, strings.TrimPrefix(b.Key, prefix+"/"))
				if b.Error == "" || len(b.Error) > 500 {
					t.Errorf("%q: the reason has %d bytes", b.Key, len(b.Error))
				}
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(keys))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("quarantine (-want +got):\n%s", diff)
			}
			if _, ok := m.Job("good"); !ok {
				t.Error("the rest does not go on")
			}
			_, _, _, _ = m.RunsThat(all), m.Jobs(), m.Workers(), m.Gate()
		})
	}
	for _, k := range keys {
		remove(t, c, prefix+"/"+k)
	}
	catchUp(t, s, m)
	if bad := m.Quarantine(); len(bad) != 0 {
		t.Errorf("after deletion: %v", bad)
	}
	if len(m.runs)+len(m.delayed) != 0 {
		t.Errorf("the indexes of runs still have %v and %v", m.runs, m.delayed)
	}
}

// TestUnreadableGate checks which gate applies while its record is unreadable: the last readable one. If the mirror
// never read the record, all jobs are paused.
func TestUnreadableGate(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, c *clientv3.Client) {
		s := open(t, c)
		m := following(t, s)
		feed := m.Feed()
		put(t, c, s.keys.job("x"), "anything")
		catchUp(t, s, m)
		check := func(what string, m *Mirror, feed *Feed, paused bool) {
			t.Helper()
			catchUp(t, s, m)
			changes := feed.Take()
			last := changes[len(changes)-1]
			gate := job.ValueOf[job.Gate](last)
			if last.Bad == nil || gate == nil || (gate.Paused != nil) != paused || (m.Gate().Paused != nil) != paused {
				t.Errorf("%s: got %+v, and the feed has %+v; paused: want %t", what, m.Gate(), last, paused)
			}
		}
		put(t, c, s.keys.record(KindGate, ""), "garbage")
		check("there was none", m, feed, false)
		put(t, c, s.keys.record(KindGate, ""), "more garbage")
		check("it was garbage", m, feed, false)

		late := NewMirror(s)
		lateFeed := late.Feed()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = late.Follow(ctx) })
		defer wg.Wait()
		defer cancel()
		check("this mirror never read one", late, lateFeed, true)
		if p := late.Gate().Paused; p != nil && p.Reason != reasonUnreadableGate {
			t.Errorf("the reason is %q", p.Reason)
		}

		_, err := s.Gate(within(t))
		if !errors.Is(err, job.ErrUnreadable) {
			t.Fatalf("read it: got %v, want %v", err, job.ErrUnreadable)
		}
		g, _ := s.Gate(within(t))
		g.Paused = &job.Pause{Reason: "upgrade"}
		if _, err := s.PutGate(within(t), g); err != nil {
			t.Fatal(err)
		}
		put(t, c, s.keys.record(KindGate, ""), "garbage again")
		check("it was closed", m, feed, true)
		if p := m.Gate().Paused; p == nil || p.Reason != "upgrade" {
			t.Errorf("got %+v, want the pause that was known", p)
		}
	})
}

func TestTerminalRunsAreKeptWithoutTheirBulk(t *testing.T) {
	c := fake(t, nil).Client()
	s := open(t, c)
	m := following(t, s)
	r := *slot("j", 1)
	r.State, r.Output, r.Payload, r.Spec = job.Succeeded, strings.Repeat("x", 8<<10), []byte(`{"a":1}`), &job.Spec{Shell: "x"}
	r, err := s.Submit(within(t), r)
	if err != nil {
		t.Fatal(err)
	}
	catchUp(t, s, m)
	got, ok := m.Run(r.Name())
	if !ok || got.Output != "" || got.Payload != nil || got.Spec != nil {
		t.Errorf("got %+v, want it without output, payload and spec", got)
	}
	if full, err := s.Run(within(t), r.Job, r.ID); err != nil || len(full.Output) != 8<<10 {
		t.Errorf("in the store: %d bytes of output (%v)", len(full.Output), err)
	}
}

// all accepts every run.
func all(*job.Run) bool { return true }
