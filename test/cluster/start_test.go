package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/ports"
)

// single returns the settings of one replica with its own etcd, at three ports.
func single(dir string, ports []int, jobs string) []string {
	return []string{
		"serve", "--node-name=q1", "--node-data-dir=" + filepath.Join(dir, "q1"), "--jobs=" + jobs, "--log-format=text",
		fmt.Sprintf("--http-listen=127.0.0.1:%d", ports[0]), fmt.Sprintf("--etcd-embedded-client=http://127.0.0.1:%d", ports[1]),
		fmt.Sprintf("--etcd-embedded-peer=http://127.0.0.1:%d", ports[2]),
	}
}

// exitBadConfig is EX_CONFIG of sysexits.h.
const exitBadConfig = 78

func TestBadStart(t *testing.T) {
	slow(t)
	t.Parallel()
	spec := job.Spec{Every: job.Duration(time.Hour), Shell: "true"}
	file := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "jobs.json")
		WriteJobs(t, path, map[string]job.Spec{"a": spec})
		return path
	}

	t.Run("a port that is taken is named", func(t *testing.T) {
		for i, what := range []string{"http.listen", "etcd.embedded.client", "etcd.embedded.peer"} {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ports := ports.Free(t, 3)
			ports[i] = ln.Addr().(*net.TCPAddr).Port
			p := NewProcess(t, binary, fmt.Sprintf("taken-%d", i), single(t.TempDir(), ports, file(t))...)
			p.Start()
			code := p.Await(15 * time.Second)
			ln.Close()
			if port := fmt.Sprint(ports[i]); code == 0 || !strings.Contains(p.Log(), port) {
				t.Errorf("%s taken: got exit code %d and\n%s\nwant a failure that names port %s", what, code, p.Tail(10), port)
			}
		}
	})

	t.Run("an etcd that does not answer is reported within five seconds and retried", func(t *testing.T) {
		ports := ports.Free(t, 4)
		dir, jobs := t.TempDir(), file(t)
		endpoint := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
		waiting := NewProcess(t, binary, "waiting", "serve", "--node-name=q2", "--node-data-dir="+filepath.Join(dir, "q2"),
			"--jobs="+jobs, "--log-format=text", fmt.Sprintf("--http-listen=127.0.0.1:%d", ports[3]), "--etcd-endpoints="+endpoint)
		waiting.Start()
		told := func() int { return strings.Count(waiting.Log(), "etcd does not answer") }
		Await(t, 5*time.Second, "it says that etcd does not answer", func() bool { return told() >= 1 })
		if !strings.Contains(waiting.Log(), endpoint) {
			t.Errorf("it does not say which etcd: %s", waiting.Tail(5))
		}
		Await(t, 10*time.Second, "it tries again", func() bool { return told() >= 2 })
		if !waiting.Running() {
			t.Fatal("the process ended")
		}
		cl := newClient(t, fmt.Sprintf("http://127.0.0.1:%d", ports[3]), "")
		if text, ready, err := cl.Ready(t.Context()); err != nil || ready {
			t.Errorf("readiness without etcd: got %v, %v: %s, want an answer that says no", ready, err, text)
		}
		NewProcess(t, binary, "etcd", single(dir, ports, jobs)...).Start()
		Await(t, 60*time.Second, "it is ready once etcd answers", func() bool {
			_, ready, err := cl.Ready(t.Context())
			return err == nil && ready
		})
	})

	t.Run("a bad job file ends it with the place", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.yaml")
		files.Write(t, path, "version: 1\njobs:\n  a:\n    every: 1h\n    shel: \"true\"\n")
		p := NewProcess(t, binary, "bad", single(t.TempDir(), ports.Free(t, 3), path)...)
		p.Start()
		code := p.Await(15 * time.Second)
		if place := path + ":5:5"; code != exitBadConfig || !strings.Contains(p.Log(), place) {
			t.Errorf("got exit code %d and\n%s\nwant %d and %s", code, p.Tail(10), exitBadConfig, place)
		}
	})
}

// TestHotReload edits a job file under a running replica. Errors change nothing, and correct files take effect.
func TestHotReload(t *testing.T) {
	slow(t)
	t.Parallel()
	ledger := NewLedger(t)
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real", "jobs.yaml"), filepath.Join(dir, "link", "jobs.yaml")
	for _, path := range []string{real, link} {
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := func(description string) string {
		return fmt.Sprintf("version: 1\njobs:\n  a:\n    description: %s\n    every: 1s\n    missed: all\n    shell: %q\n", description, ledger.Shell(""))
	}
	path := filepath.Join(dir, "jobs.yaml")
	files.Write(t, path, file("first"))
	ports := ports.Free(t, 3)
	p := NewProcess(t, binary, "q1", single(dir, ports, path)...)
	p.Start()
	cl := newClient(t, fmt.Sprintf("http://127.0.0.1:%d", ports[0]), "")

	said := func() string {
		j, err := cl.Job(t.Context(), "a")
		if err != nil {
			return err.Error()
		}
		return j.Spec.Description
	}
	Await(t, 20*time.Second, "the job is defined", func() bool { return said() == "first" })
	Await(t, 20*time.Second, "the job runs", func() bool { return len(ledger.Effects()) >= 2 })

	files.Write(t, path, strings.Replace(file("second"), "every: 1s", "every: 1 fortnight", 1))
	Await(t, 10*time.Second, "the bad edit is reported with its line", func() bool { return strings.Contains(p.Log(), path+":5:") })
	Await(t, 10*time.Second, "the bad edit is shown by the cluster", func() bool {
		v, err := cl.Cluster(t.Context())
		return err == nil && len(v.Files.Notes) > 0
	})
	before := len(ledger.Effects())
	Await(t, 10*time.Second, "the job runs on", func() bool { return len(ledger.Effects()) >= before+3 })
	if got := said(); got != "first" {
		t.Errorf("definition after a bad edit: got %q, want the first", got)
	}

	files.Write(t, path, file("third"))
	Await(t, 10*time.Second, "the good edit takes effect", func() bool { return said() == "third" })
	Await(t, 10*time.Second, "nothing is wrong any more", func() bool {
		v, err := cl.Cluster(t.Context())
		return err == nil && len(v.Files.Notes) == 0
	})

	// An edit of a file behind a link causes no event of the watch. So rota reads the file only after SIGHUP.
	files.Write(t, real, file("linked"))
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGTERM)
	p.Await(20 * time.Second)
	p.Args = append(p.Args, "--jobs="+link)
	p.Start()
	Await(t, 30*time.Second, "the file behind the link is read", func() bool { return said() == "linked" })
	files.Write(t, real, file("fourth"))
	Let(500 * time.Millisecond) // files must be unchanged for a second before they are read
	if got := said(); got != "linked" {
		t.Fatalf("an edit behind a link was seen without being asked for: got %q; then SIGHUP proves nothing", got)
	}
	p.Signal(syscall.SIGHUP)
	Await(t, 10*time.Second, "the log says that it reads the files on request", func() bool { return strings.Contains(p.Log(), "reading the job files again") })
	Await(t, 10*time.Second, "the edit takes effect when asked for", func() bool { return said() == "fourth" })
}

// replaceFile writes a file in one step, as editors do.
func replaceFile(t *testing.T, path, text string) {
	t.Helper()
	files.Write(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
