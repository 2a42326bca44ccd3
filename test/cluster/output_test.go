package cluster

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// outputStore is a store that keeps output beyond its worker.
type outputStore struct {
	url  string     // the value of output.store
	away func(bool) // takes the store away, or brings it back
	has  func() int // the number of complete outputs in it
}

// TestOutputOutlivesItsWorker removes the disk of a worker after a run: its output is still complete. While the store is away, runs
// end as before, the worker says so, and their output is uploaded later.
func TestOutputOutlivesItsWorker(t *testing.T) {
	row(t)
	for kind, open := range map[string]func(*testing.T) outputStore{"directory": openDirectory, "bucket": openBucket} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			outlive(t, open(t))
		})
	}
}

func openDirectory(t *testing.T) outputStore {
	shared := filepath.Join(t.TempDir(), "output")
	if err := os.Mkdir(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	return outputStore{
		url: shared,
		away: func(away bool) {
			from, to := shared+".away", shared
			if away {
				from, to = to, from
			}
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		},
		has: func() int {
			found, err := filepath.Glob(filepath.Join(shared, "print", "*.1.out"))
			if err != nil {
				t.Fatal(err)
			}
			return len(found)
		},
	}
}

// bucketKeys are the keys to the bucket, in the environment of each node.
var bucketKeys = []string{"AWS_ACCESS_KEY_ID=rota", "AWS_SECRET_ACCESS_KEY=hidden"}

// openBucket starts a server of S3. While it is away, it breaks connections.
func openBucket(t *testing.T) outputStore {
	objects := s3mem.New()
	if err := objects.CreateBucket("logs"); err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	s3 := gofakes3.New(objects).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() || !strings.Contains(r.Header.Get("Authorization"), "Credential=rota/") {
			panic(http.ErrAbortHandler)
		}
		s3.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return outputStore{
		url:  "s3://logs/outputs?region=eu-central-1&endpoint=" + server.URL,
		away: away.Store,
		has: func() int {
			prefix := gofakes3.NewFolderPrefix("outputs/print/")
			list, err := objects.ListBucket("logs", &prefix, gofakes3.ListBucketPage{})
			if err != nil {
				t.Fatal(err)
			}
			return len(list.Contents)
		},
	}
}

func outlive(t *testing.T, store outputStore) {
	flag := "--output-store=" + store.url
	c := Start(t, Config{
		Binary: binary, Replicas: 1, Env: bucketKeys, Flags: func(string) []string { return []string{flag, "--worker-enabled=false"} },
		// No job inherits the keys of its worker. If it did, its output would have one line more.
		Jobs: map[string]job.Spec{"print": {Shell: "for i in $(seq 5000); do echo line $i; done; env | grep AWS_; echo the end"}},
	})
	w := c.AddWorker("w1", flag)
	print := func() (run string) {
		t.Helper()
		v, _, err := c.Client.Submit(t.Context(), "print", api.RunRequest{})
		if err != nil {
			t.Fatal(err)
		}
		Await(t, 20*time.Second, "the run succeeds", func() bool {
			r, err := c.Client.Run(t.Context(), v.Ref)
			return err == nil && r.State == job.Succeeded
		})
		return v.Ref
	}
	complete := func(run string) bool {
		out, code := Command(t, binary, "logs", run, "--server="+c.Replicas()[0].URL)
		return code == 0 && strings.HasPrefix(out, "line 1\n") && strings.Count(out, "\n") == 5001 && strings.HasSuffix(out, "the end\n")
	}

	first := print()
	Await(t, 20*time.Second, "the output is uploaded", func() bool { return store.has() == 1 })
	w.Kill()
	if err := os.RemoveAll(filepath.Join(c.Dir, "w1")); err != nil {
		t.Fatal(err)
	}
	Await(t, 40*time.Second, "the output is complete without its worker", func() bool { return complete(first) })

	store.away(true)
	w.Start()
	second := print()
	Await(t, 20*time.Second, "the worker says that the store is away", func() bool {
		return w.Metric("rota_output_store_failing") == 1 && w.Metric("rota_output_waiting") == 1
	})
	Await(t, 20*time.Second, "rota status names the worker", func() bool {
		out, _ := Command(t, binary, "status", "--server="+c.Replicas()[0].URL)
		return strings.Contains(out, "Worker w1 cannot upload output")
	})
	third := print()
	if !complete(second) || !complete(third) {
		t.Error("the worker does not serve its own output")
	}
	w.Kill() // the next process of the worker uploads what waits
	store.away(false)
	w.Start()
	Await(t, 60*time.Second, "the output that waited is uploaded", func() bool { return store.has() == 3 })
	w.Kill()
	if err := os.RemoveAll(filepath.Join(c.Dir, "w1")); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{first, second, third} {
		Await(t, 40*time.Second, "the output of "+run+" is complete", func() bool { return complete(run) })
	}
}
