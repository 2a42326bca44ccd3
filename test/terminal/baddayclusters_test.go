package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/ports"
)

// occupied returns jobs with runs of every kind that commands act on.
func occupied() map[string]job.Spec {
	specs := jobs()
	specs["by-hand"] = job.Spec{Shell: "true", Approve: &job.Approve{}}
	return specs
}

// occupy gives jobs a run that has failed, one that runs and one that waits for a person. It creates a job without a file, and
// removes the one that `rota apply` creates. key names the runs.
func occupy(t *testing.T, cl *client.Client, key string) {
	t.Helper()
	if err := cl.DeleteJob(t.Context(), "sums", api.Precondition{}); err != nil && !errors.Is(err, job.ErrNotFound) {
		t.Fatal(err)
	}
	if _, _, err := cl.PutJob(t.Context(), "old", job.Spec{Shell: "true"}, api.Precondition{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bad", "long", "by-hand"} {
		if _, _, err := cl.Submit(t.Context(), name, api.RunRequest{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	cluster.Await(t, 20*time.Second, "a run has failed", func() bool {
		list, err := cl.Runs(t.Context(), client.RunFilter{Job: "bad", States: []job.State{job.Failed}}, "")
		return err == nil && len(list.Runs) > 0
	})
}

// healthy are the exit codes of commands on a good day. Some of their objects may be gone, since an earlier day has removed them.
var healthy = answer{codes: []int{0, 1, 3, 4, 7}}

// TestBadDaysOfACluster runs every command without a cluster, with one of three replicas that hangs, and without a majority.
func TestBadDaysOfACluster(t *testing.T) {
	t.Parallel()
	none := answer{[]int{5}, "no rota answers"}
	badDay{
		name: "no replica", env: []string{"ROTA_SERVER=http://127.0.0.1:1"},
		want: map[kind]answer{reads: none, changes: none, readStore: none, probes: {[]int{1}, "no answer"}},
	}.endure(t)

	c := startWith(t, occupied())
	occupy(t, c.Client, "first")
	list := c.Replicas()
	servers := []string{list[2].URL, list[1].URL, list[0].URL} // the one that hangs is asked first
	list[2].Stop()
	badDay{
		name: "one of three hangs", env: []string{"ROTA_SERVER=" + strings.Join(servers, ",")},
		want: map[kind]answer{reads: healthy, changes: healthy, readStore: healthy, probes: {[]int{1}, "no answer"}},
		except: map[string]answer{
			"rota run": {[]int{0}, "bad/"}, "rota jobs": {[]int{0}, "tick"},
			"rota logs": {[]int{0, 5}, "tick|which has the output, does not answer"}, // the worker that hangs may have the output
		},
	}.endure(t)

	list[2].Cont()
	occupy(t, c.Client, "second")
	list[1].Kill()
	list[2].Kill()
	cluster.Await(t, 30*time.Second, "the majority is lost", func() bool {
		v, err := list[0].Client.Cluster(t.Context())
		return err == nil && v.Tolerated != nil && *v.Tolerated < 0
	})
	cluster.Await(t, 30*time.Second, "the answers of the other are old", func() bool {
		out, _ := cluster.Command(t, binary, "jobs", "--server="+list[0].URL)
		return strings.Contains(out, "has not heard from the store")
	})
	badDay{
		name: "no majority", env: []string{"ROTA_SERVER=" + list[0].URL},
		want: map[kind]answer{
			reads:     {[]int{0, 5}, "has not heard from the store"},
			changes:   {[]int{5}, "store did not answer in time"},
			readStore: {[]int{5}, "majority"},
			probes:    {[]int{1}, "store"},
		},
		except: map[string]answer{
			"rota status": {[]int{7}, "majority"}, "rota doctor": {[]int{5}, "majority"},
			"rota open":                  {[]int{0}, list[0].URL},         // the page shows the same
			"rota accept-restored-store": {[]int{4}, "nothing to accept"}, // it is of this process
		},
	}.endure(t)
}

// TestBadDaysOfAStore runs every command with a token that has expired, with clusters of another version, and with a full store.
func TestBadDaysOfAStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	free := ports.Free(t, 2)
	member, peer := fmt.Sprintf("http://127.0.0.1:%d", free[0]), fmt.Sprintf("http://127.0.0.1:%d", free[1])
	etcd, err := embedded.Start(t.Context(), embedded.Config{
		Name: "e1", Dir: filepath.Join(dir, "etcd"), Client: member, Peer: peer, QuotaBytes: 16 << 20, NoSync: true,
	}, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	roles, admin := filepath.Join(dir, "auth.yaml"), filepath.Join(dir, "token")
	grant(t, roles, admin)
	c := cluster.Start(t, cluster.Config{
		Binary: binary, Replicas: 1, Etcd: []string{member}, TokenFile: admin, Jobs: occupied(),
		Limits: map[string]job.LimitSpec{"database": {Concurrent: 2}},
		Flags:  func(string) []string { return []string{"--auth-mode=required", "--auth-file=" + roles} },
	})
	occupy(t, c.Client, "first")
	at := c.Replicas()[0].URL
	env := []string{"ROTA_SERVER=" + at, "ROTA_TOKEN_FILE=" + admin}

	expired := filepath.Join(dir, "expired")
	cmd := exec.Command(binary, "token", "create", "ci", "--role=admin", "--expires=1s", "-o", "jsonpath={.token}")
	cmd.Env = env
	text, err := cmd.Output()
	if err == nil {
		err = os.WriteFile(expired, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	old := []string{"ROTA_SERVER=" + at, "ROTA_TOKEN_FILE=" + expired}
	cluster.Await(t, 20*time.Second, "the token has expired", func() bool {
		cmd := exec.Command(binary, "jobs")
		cmd.Env = old
		return cmd.Run() != nil
	})
	refused := answer{[]int{1}, "(?s)rejects the token: it has expired.*\nhint: ask an admin"}
	badDay{
		name: "an expired token", env: old,
		want: map[kind]answer{reads: refused, changes: refused, readStore: refused, probes: healthy},
	}.endure(t)

	older := answer{[]int{1}, "(?s)does not know .*its version is older.*\nhint: use a rota of the version"}
	badDay{
		name: "an older cluster", env: []string{"ROTA_SERVER=" + olderThan(t, at), "ROTA_TOKEN_FILE=" + admin},
		want: map[kind]answer{reads: older, changes: older, readStore: older, probes: healthy},
	}.endure(t)
	badDay{
		name: "a newer cluster", env: []string{"ROTA_SERVER=" + newer(t, at), "ROTA_TOKEN_FILE=" + admin},
		want: map[kind]answer{reads: healthy, changes: healthy, readStore: healthy, probes: healthy},
	}.endure(t)

	occupy(t, c.Client, "second")
	fill(t, member)
	gone := answer{[]int{0, 3, 4, 5}, ""}
	cluster.Await(t, 20*time.Second, "the replica says that etcd is full", func() bool {
		text, ready, err := c.Replicas()[0].Client.Ready(t.Context())
		return err == nil && !ready && strings.Contains(text, "etcd is full")
	})
	badDay{
		name: "a full store", env: env,
		want: map[kind]answer{
			reads: healthy, changes: {[]int{5}, "(?s)out of space.*\nhint: .*recover-a-full-store"}, readStore: healthy,
			probes: {[]int{1}, "etcd is full"},
		},
		except: map[string]answer{
			"rota status": {[]int{7}, "etcd is full"}, "rota doctor": {[]int{1}, "full"},
			// The store accepts commands that remove or shrink records.
			"rota approve": gone, "rota reject": gone, "rota cancel": gone, "rota delete": gone, "rota resume": gone, "rota pause": gone,
			"rota token revoke": gone, "rota token rotate": gone, // there is none
			"rota accept-restored-store": gone,
		},
	}.endure(t)
}

// grant writes the token of an administrator, and the file that makes it valid.
func grant(t *testing.T, roles, token string) {
	t.Helper()
	secret, entry := cluster.NewToken(t, binary, "harness", "admin")
	for path, text := range map[string]string{roles: "tokens:\n" + entry, token: secret} {
		files.Write(t, path, text)
	}
}

// fill puts values into etcd until it rejects them.
func fill(t *testing.T, endpoint string) {
	t.Helper()
	etcd := cluster.Dial(t, []string{endpoint})
	for i := range 64 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err := etcd.Put(ctx, fmt.Sprintf("/filler/%d", i), strings.Repeat("x", 1<<20))
		cancel()
		if err != nil {
			return
		}
	}
	t.Fatal("etcd is not full: the fault took no effect")
}
