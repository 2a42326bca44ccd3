package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/history"
)

// Recorder keeps every version of every key under a prefix, from the first revision on. It must stay within five minutes of the
// cluster, because the members discard older revisions.
type Recorder struct {
	t      testing.TB
	client *clientv3.Client
	prefix string
	end    func() // ends the recording and waits for it

	mu       sync.Mutex
	versions []history.Version             // guarded by mu
	latest   map[string][]history.Version  // guarded by mu: the versions of each key
	runs     map[string]map[string]job.Run // guarded by mu: the present runs by job and ID, without those that cannot be read
	rev      int64                         // guarded by mu: everything up to it is recorded
}

// NewRecorder records from the members at endpoints until the test ends.
func NewRecorder(t testing.TB, prefix string, endpoints []string) *Recorder {
	t.Helper()
	return resume(t, prefix, endpoints, nil, 0, "")
}

// resume records from the oldest available revision at or after rev. past has the versions that an earlier recorder recorded.
func resume(
	t testing.TB, prefix string, endpoints []string, past []history.Version, rev int64, certificates string,
) *Recorder {
	t.Helper()
	r := &Recorder{
		t: t, client: Dial(t, endpoints, certificates), prefix: prefix,
		latest: make(map[string][]history.Version), runs: make(map[string]map[string]job.Run),
	}
	for _, v := range past {
		r.add(v)
	}
	r.rev = rev
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			r.follow(ctx)
		}
	})
	wg.Go(func() {
		for ctx.Err() == nil {
			_ = r.client.RequestProgress(clientv3.WithRequireLeader(ctx)) // a failed request is repeated
			select {
			case <-ctx.Done():
			case <-time.After(poll):
			}
		}
	})
	r.end = func() { cancel(); wg.Wait() }
	t.Cleanup(r.end)
	return r
}

// Dial returns an etcd client that detects a member that hangs. It is closed when the test ends. certificates is as in Cluster.
func Dial(t testing.TB, endpoints []string, certificates ...string) *clientv3.Client {
	t.Helper()
	var secure *tls.Config
	if len(certificates) > 0 && certificates[0] != "" {
		file := func(name string) string { return filepath.Join(certificates[0], name) }
		info := transport.TLSInfo{CertFile: file("client.crt"), KeyFile: file("client.key"), TrustedCAFile: file("ca.crt")}
		var err error
		if secure, err = info.ClientConfig(); err != nil {
			t.Fatal(err)
		}
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: endpoints, DialTimeout: 2 * time.Second, DialKeepAliveTime: 2 * time.Second, DialKeepAliveTimeout: 2 * time.Second,
		Logger: zap.NewNop(), TLS: secure,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // the members may have ended
	return client
}

// follow records until the watch ends.
func (r *Recorder) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	r.mu.Lock()
	from := r.rev + 1
	r.mu.Unlock()
	watch := r.client.Watch(ctx, r.prefix+"/", clientv3.WithPrefix(), clientv3.WithRev(from))
	for resp := range watch {
		if resp.CompactRevision != 0 {
			r.t.Errorf("recorder fell behind: revisions up to %d are compacted", resp.CompactRevision)
			return
		}
		if resp.Err() != nil {
			return
		}
		r.record(resp)
	}
	select {
	case <-ctx.Done():
	case <-time.After(poll):
	}
}

func (r *Recorder) record(resp clientv3.WatchResponse) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for _, ev := range resp.Events {
		v := history.Version{
			Key: string(ev.Kv.Key), Value: ev.Kv.Value, Rev: ev.Kv.ModRevision, Create: ev.Kv.CreateRevision, Seen: now,
			Deleted: ev.Type == clientv3.EventTypeDelete,
		}
		r.add(v)
	}
	if resp.IsProgressNotify() {
		r.rev = max(r.rev, resp.Header.Revision)
	}
}

// add records a version. The caller has locked r.mu, or no other goroutine uses r yet.
func (r *Recorder) add(v history.Version) {
	r.versions = append(r.versions, v)
	r.latest[v.Key] = append(r.latest[v.Key], v)
	r.rev = max(r.rev, v.Rev)
	if name, ok := strings.CutPrefix(v.Key, r.prefix+"/runs/"); ok {
		r.setRun(name, v)
	}
}

// setRun sets the present version of a run. The caller has locked r.mu, or no other goroutine uses r yet.
func (r *Recorder) setRun(name string, v history.Version) {
	of, id, _ := strings.Cut(name, "/")
	var run job.Run
	if v.Deleted || json.Unmarshal(v.Value, &run) != nil {
		delete(r.runs[of], id)
		return
	}
	run.Rev = v.Rev
	if r.runs[of] == nil {
		r.runs[of] = make(map[string]job.Run)
	}
	r.runs[of][id] = run
}

// Open returns the runs that have not ended, by name.
func (r *Recorder) Open() map[string]job.State {
	open := make(map[string]job.State)
	for name, run := range r.Runs("") {
		if !run.State.Terminal() {
			open[name] = run.State
		}
	}
	return open
}

// Rev returns the revision up to which everything is recorded.
func (r *Recorder) Rev() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rev
}

// Sync waits until everything that has been written is recorded.
func (r *Recorder) Sync() {
	r.t.Helper()
	rev := int64(0)
	Await(r.t, 30*time.Second, "the store answers", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		resp, err := r.client.Get(ctx, r.prefix, clientv3.WithCountOnly())
		if err == nil {
			rev = resp.Header.Revision
		}
		return err == nil
	})
	Await(r.t, 30*time.Second, "the recorder catches up", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.rev >= rev
	})
}

// Versions returns everything that was recorded.
func (r *Recorder) Versions() []history.Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.versions)
}

// VersionsOf returns the versions of one key, such as "runs/a/…", without the prefix.
func (r *Recorder) VersionsOf(key string) []history.Version {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.latest[r.prefix+"/"+key])
}

// Runs returns the present runs of a job by ID, or those of all jobs by name if of is empty.
func (r *Recorder) Runs(of string) map[string]job.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := make(map[string]job.Run, len(r.runs[of]))
	if of != "" {
		maps.Copy(runs, r.runs[of])
		return runs
	}
	for of, own := range r.runs {
		for id, run := range own {
			runs[of+"/"+id] = run
		}
	}
	return runs
}
