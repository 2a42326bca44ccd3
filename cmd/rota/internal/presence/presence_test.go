package presence

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
	"github.com/rota-scheduler/rota/store/mem"
)

// While etcd is out of space, it grants no lease. The log says so once.
func TestARepeatedErrorIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		server := mem.New(mem.Config{Faults: mem.FaultFunc(func(op mem.Op) (v mem.Verdict) {
			if op.Kind == mem.Grant {
				tries++
				v.Action, v.Err = mem.Refuse, rpctypes.ErrNoSpace
			}
			return v
		})})
		var log bytes.Buffer
		s := store.New(store.Config{Prefix: "/rota", Process: "p"}, server.Client(), hclog.NewNullLogger())
		r := NewReplica(job.Replica{Name: "q1"}, s, time.Now, hclog.New(&hclog.LoggerOptions{Output: &log}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
		if got := strings.Count(log.String(), "presence could not be shown"); got != 1 || tries < 10 {
			t.Errorf("%d tries made %d lines, want 1:\n%s", tries, got, &log)
		}
		s.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
}
