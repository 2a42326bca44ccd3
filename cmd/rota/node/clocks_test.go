package node

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

func TestASkewedReplicaNeverLeads(t *testing.T) {
	t.Parallel()
	for name, certs := range map[string]config.ServerTLS{"plain HTTP": {}, "TLS": certificates(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q1 := skewed(t, certs)
			eventually(t, "it knows", func() bool { return q1.node.clocks.peers.Trusted() != nil })
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
	q1.put(t, "tick", job.Spec{Every: job.Duration(time.Second), Command: []string{"true"}})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	err := q1.node.lead(ctx, election.Term{Key: q1.node.store.Keys().Election() + "nobody", Rev: 1})
	if !errors.Is(err, election.ErrTermLost) || ctx.Err() != nil {
		t.Errorf("got %v, context %v; want %v at once", err, ctx.Err(), election.ErrTermLost)
	}
}

// skewed begins a replica among others who say that its clock is wrong, while nobody leads.
func skewed(t *testing.T, certs config.ServerTLS) *running {
	t.Helper()
	set := outside(t, "q1", etcd(t))
	set.HTTP.TLS, set.Worker.Enabled = certs, false
	client, err := Dial(set.Etcd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	others := store.New(store.Config{Prefix: set.Etcd.Prefix, Process: "others"}, client, hclog.NewNullLogger())
	t.Cleanup(others.Close)
	for i := range 6 {
		r := job.Replica{Name: fmt.Sprint("other-", i), Addr: set.HTTP.Listen} // left as it is on every machine: it leads to q1
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

// ahead is the address of a replica whose clock is 45 s ahead of ours.
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

func TestAClockThatWasSetIsComparedBeforeItLeads(t *testing.T) {
	t.Parallel()
	set := outside(t, "q1", etcd(t))
	set.Worker.Enabled = false
	var ahead atomic.Int64
	q1 := start(t, Config{Settings: set, Version: version, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	q1.lead(t)

	ahead.Store(int64(time.Hour))
	eventually(t, "the clock is trusted again, since nobody contradicts", func() bool {
		return strings.Contains(q1.log.String(), "the clock is right again")
	})
	if log := q1.log.String(); !strings.Contains(log, "wall clock set by") {
		t.Errorf("no term ended because of the clock:\n%s", log)
	}
	q1.lead(t)
}
