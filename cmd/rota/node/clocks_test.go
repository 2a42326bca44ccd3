package node

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/etcdconn"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/test/files"
)

func TestASkewedReplicaNeverLeads(t *testing.T) {
	t.Parallel()
	for name, certs := range map[string]config.ServerTLS{"plain HTTP": {}, "TLS": certificates(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q1 := skewed(t, certs)
			eventually(t, "it knows", func() bool { return q1.node.clocks.Trusted() != nil })
			if log := q1.log.String(); strings.Contains(log, "to=leader") {
				t.Errorf("it led:\n%s", log)
			}
		})
	}
}

func TestLeadReturnsWhenTheStoreSaysThatTheTermIsOver(t *testing.T) {
	t.Parallel()
	q1 := skewed(t, config.ServerTLS{})
	eventually(t, "the API answers", func() bool {
		_, err := q1.Cluster(t.Context())
		return err == nil
	})
	tick := job.Spec{Every: job.Duration(time.Second), Command: []string{"true"}}
	j, _ := job.Define(nil, "tick", tick, job.Origin{Kind: job.OriginAPI}, time.Now())
	if _, err := q1.node.store.PutJob(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	err := q1.node.lead(ctx, election.Term{Key: q1.node.store.Keys().Election() + "nobody", Rev: 1})
	if !errors.Is(err, election.ErrTermLost) || ctx.Err() != nil {
		t.Errorf("got %v, context %v; want %v at once", err, ctx.Err(), election.ErrTermLost)
	}
}

// skewed starts a replica whose clock counts as wrong: it runs beside others whose clocks differ from it. No replica leads.
func skewed(t *testing.T, certs config.ServerTLS) *running {
	t.Helper()
	set := outside(t, "q1", etcd(t))
	set.HTTP.TLS, set.Worker.Enabled = certs, false
	client, err := etcdconn.Dial(set.Etcd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	others := store.New(store.Config{Prefix: set.Etcd.Prefix, Process: "others"}, client, hclog.NewNullLogger())
	t.Cleanup(others.Close)
	for i := range 6 {
		r := job.Replica{Name: fmt.Sprint("other-", i), Addr: set.HTTP.Listen} // this loopback address leads to q1 itself
		if i < 3 {
			r.Addr = ahead(t, certs, r.Name)
		}
		p, err := others.PresentReplica(t.Context(), r, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Close(context.WithoutCancel(t.Context())) })
	}
	return begin(t, Config{Settings: set, Version: version})
}

// ahead starts a fake replica whose clock is 45 s ahead, and returns its address.
func ahead(t *testing.T, certs config.ServerTLS, name string) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now := time.Now().Add(45 * time.Second)
		_ = json.NewEncoder(w).Encode(api.ClockReading{Node: name, Received: now, Answered: now})
	}))
	if c, err := serverTLS(certs); err != nil {
		t.Fatal(err)
	} else if c != nil {
		s.Listener = tls.NewListener(s.Listener, c)
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestChangesAreDatedByTheLeadersClock(t *testing.T) {
	t.Parallel()
	etcd, file := etcd(t), filepath.Join(t.TempDir(), "jobs.yaml")
	files.Replace(t, file, "limits: {database: {concurrent: 1}}\n"+files.Jobs("of a file", "filed"))
	set1, set2 := outside(t, "q1", etcd), outside(t, "q2", etcd)
	set1.Worker.Enabled, set2.Worker.Enabled = false, false
	ahead := func() time.Time { return time.Now().Add(45 * time.Second) }
	q1 := start(t, Config{Settings: set1, Version: version, Now: ahead})
	eventually(t, "it leads, and others see it", func() bool {
		return q1.node.scheduler.Status().Term != 0 && len(q1.node.mirror.Replicas()) == 1
	})
	set2.Jobs = file
	q2 := start(t, Config{Settings: set2, Version: version}) // with only two clocks, a difference does not show which one is wrong

	began := ahead()
	check := func(what string, at time.Time) {
		t.Helper()
		if at.Before(began.Add(-time.Second)) || at.After(ahead().Add(time.Second)) {
			t.Errorf("%s: %v off by the leader's clock", what, at.Sub(ahead()).Round(time.Millisecond))
		}
	}
	began = began.Add(-20 * time.Second) // the files were put in force when q2 started
	q2.wantJobs(t, "filed=of a file")
	filed, err := q2.node.store.Job(t.Context(), "filed")
	if err != nil {
		t.Fatal(err)
	}
	limit, err := q2.node.store.Limit(t.Context(), "database")
	if err != nil {
		t.Fatal(err)
	}
	check("a job of a file", filed.Since)
	check("a limit of a file", limit.Updated)
	check("the files", q2.node.mirror.Files().At)

	began = ahead()
	check("a job that is put", q2.put(t, "j", job.Spec{Shell: "true"}).Since)
	licence, err := q2.PutLimit(t.Context(), "licence", job.LimitSpec{Concurrent: 1}, api.Precondition{})
	if err != nil {
		t.Fatal(err)
	}
	check("a limit that is put", licence.Updated)
	run := q2.submit(t, "j", api.RunRequest{})
	check("a run that is due at once", run.Due)
	check("a run that is due in a while", q2.submit(t, "j", api.RunRequest{In: "1h"}).Due.Add(-time.Hour))
	canceled, err := q2.Cancel(t.Context(), run.Ref, "")
	if err != nil {
		t.Fatal(err)
	}
	check("a cancellation", canceled.Cancel.At)
	again, err := q2.Retry(t.Context(), run.Ref)
	if err != nil {
		t.Fatal(err)
	}
	check("a retry", again.Due)
	paused, err := q2.PauseJob(t.Context(), "j", "")
	if err != nil {
		t.Fatal(err)
	}
	check("a pause", paused.Paused.At)
	resumed, err := q2.ResumeJob(t.Context(), "j", "")
	if err != nil {
		t.Fatal(err)
	}
	check("the end of a pause", resumed.Since)
	if _, err := q2.PauseAll(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	gate, err := q2.ResumeAll(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	check("the end of a pause of all", gate.Since)
}

func TestAnswersAreGivenByTheLeadersClock(t *testing.T) {
	t.Parallel()
	etcd := etcd(t)
	set1, set2 := outside(t, "q1", etcd), outside(t, "q2", etcd)
	set2.Worker.Enabled = false
	q1 := start(t, Config{Settings: set1, Version: version})
	eventually(t, "it leads, and others see it", func() bool {
		return q1.node.scheduler.Status().Term != 0 && len(q1.node.mirror.Replicas()) == 1
	})
	ahead := func() time.Time { return time.Now().Add(5 * time.Hour) }
	q2 := start(t, Config{Settings: set2, Version: version, Now: ahead})
	q1.put(t, "j", job.Spec{Shell: "true", Schedule: []string{"0 * * * *"}})
	run := q1.submit(t, "j", api.RunRequest{})
	eventually(t, "a run ends", func() bool {
		r, ok := q2.node.mirror.Run(run.Ref)
		return ok && r.State == job.Succeeded
	})
	eventually(t, "it knows the leader's clock", func() bool { return q2.node.clocks.Corrected(ahead()).Before(ahead().Add(-time.Hour)) })

	coming := time.Now().Add(2 * time.Hour).Truncate(time.Hour)
	v, err := q2.Explain(t.Context(), "j", coming)
	if err != nil || strings.Contains(strings.Join(v.Text, " "), "has been due") {
		t.Errorf("a slot that is to come: got %q, %v", v.Text, err)
	}
	cluster, err := q2.Cluster(t.Context())
	if err != nil || cluster.Runs.Hour[job.Succeeded] != 1 {
		t.Errorf("the last hour: got %+v, %v; want the run of this minute", cluster.Runs.Hour, err)
	}
	next, err := q2.Next(t.Context(), "j", time.Time{}, 1)
	if err != nil || len(next.Slots) != 1 || next.Slots[0].After(time.Now().Add(time.Hour)) {
		t.Errorf("the next slot: got %v, %v; want the next hour", next.Slots, err)
	}
}

func TestAReplicaWithoutARightClockChangesNothing(t *testing.T) {
	t.Parallel()
	q1 := skewed(t, config.ServerTLS{}) // no replica leads
	eventually(t, "it knows", func() bool { return q1.node.clocks.Trusted() != nil })
	_, _, put := q1.PutJob(t.Context(), "j", job.Spec{Shell: "true"}, api.Precondition{})
	_, _, submit := q1.SubmitCommand(t.Context(), api.AdHocRequest{Shell: "true"})
	for what, err := range map[string]error{"put": put, "submit": submit} {
		if status(err) != 503 || !strings.Contains(err.Error(), "other-0 is 4") || !strings.Contains(err.Error(), "ask another replica") {
			t.Errorf("%s: got %v, want 503 that says by how much its clock is wrong, and what to do", what, err)
		}
	}
}

func TestAClockThatWasSetIsComparedBeforeItLeads(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	var ahead atomic.Int64
	q1 := start(t, Config{Settings: set, Version: version, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	q1.lead(t)
	eventually(t, "it decides", func() bool { return q1.node.scheduler.Status().Term != 0 })

	ahead.Store(int64(time.Hour))
	if now, err := q1.node.clocks.Now(t.Context()); err == nil && time.Until(now) > time.Minute {
		t.Errorf("what is changed before anybody knows is dated %v", now)
	}
	eventually(t, "the clock is trusted again, since nobody contradicts", func() bool {
		return strings.Contains(q1.log.String(), "the clock is right again")
	})
	if log := q1.log.String(); !strings.Contains(log, "wall clock set by") {
		t.Errorf("no term ended because of the clock:\n%s", log)
	}
	q1.lead(t)
}
