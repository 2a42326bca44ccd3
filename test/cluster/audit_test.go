package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAuditRecordsSurviveKills kills the leader fifty times while clients change definitions at it. Each change that is in the store
// has its audit record, and each audit record has its change, at the same revision.
func TestAuditRecordsSurviveKills(t *testing.T) {
	row(t)
	c := Start(t, Config{Binary: binary, Replicas: 1, Jobs: map[string]job.Spec{"filed": {Shell: "true"}}})
	n, random := c.Replicas()[0], seeded(t)
	const kills, writers = 50, 4
	for i := range kills {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for k := 0; ctx.Err() == nil; k++ {
					name := fmt.Sprintf("w%d-%d", w, k%3)
					spec := job.Spec{Shell: "true", Description: fmt.Sprintf("version %d of round %d", k, i)}
					if (k+i+w)%4 == 3 {
						_ = c.Client.DeleteJob(ctx, name, api.Precondition{}) // the kill leaves the outcome of one change unknown
						continue
					}
					_, _, _ = c.Client.PutJob(ctx, name, spec, api.Precondition{})
				}
			})
		}
		Let(time.Duration(20+random.IntN(80)) * time.Millisecond) // the length of the load itself is the fault's place
		n.Kill()
		cancel()
		wg.Wait()
		n.Start()
		n.WaitReady()
	}

	etcd := Dial(t, c.Endpoints())
	get := func(key string, opts ...clientv3.OpOption) *clientv3.GetResponse {
		t.Helper()
		resp, err := etcd.Get(t.Context(), key, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	type place struct {
		rev int64
		job string
	}
	audits := map[place]job.Audit{} // one transaction may write several
	for _, kv := range get(Prefix+"/audit/", clientv3.WithPrefix()).Kvs {
		var a job.Audit
		if err := json.Unmarshal(kv.Value, &a); err != nil {
			t.Fatal(err)
		}
		audits[place{kv.ModRevision, a.Object}] = a
	}
	jobs := get(Prefix+"/jobs/", clientv3.WithPrefix()).Kvs
	for _, kv := range jobs {
		name := strings.TrimPrefix(string(kv.Key), Prefix+"/jobs/")
		if name == "filed" { // the set of job files has one record
			continue
		}
		if a, ok := audits[place{kv.ModRevision, name}]; !ok || a.Verb != "put-job" {
			t.Errorf("job %s at revision %d has the audit record %+v", name, kv.ModRevision, a)
		}
	}
	puts, deletions := 0, 0
	for at, a := range audits {
		there := get(Prefix+"/jobs/"+a.Object, clientv3.WithRev(at.rev)).Kvs
		switch a.Verb {
		case "put-job":
			puts++
			if len(there) != 1 || there[0].ModRevision != at.rev {
				t.Errorf("audit record at revision %d: job %s was not written there", at.rev, a.Object)
			}
		case "delete-job":
			deletions++
			if len(there) != 0 {
				t.Errorf("audit record at revision %d: job %s still exists", at.rev, a.Object)
			}
		}
	}
	if puts < kills || deletions == 0 {
		t.Errorf("%d definitions and %d deletions in %d rounds: there was no load", puts, deletions, kills)
	}
	t.Logf("%d definitions, %d deletions, %d jobs left", puts, deletions, len(jobs))
	if out, code := Command(t, binary, "verify", "--all-changes", "--endpoints="+strings.Join(c.Endpoints(), ",")); code != 0 || strings.Contains(out, "outside of the API") {
		t.Errorf("verify: exit code %d\n%s", code, out)
	}
}
