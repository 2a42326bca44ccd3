package main

import (
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rota-scheduler/rota/scheduler/api"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rota": main})
}

// TestScripts runs the real program. Each script has its own API server, with a cluster in memory. ROTA_SERVER has the URL of the
// server.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			fake := newFakeCluster()
			server := httptest.NewServer(api.New(api.DefaultConfig(), fake.backend(), hclog.NewNullLogger()).Handler())
			env.Defer(server.Close)
			env.Setenv("ROTA_SERVER", server.URL)
			env.Setenv("GOCOVERDIR", os.Getenv("GOCOVERDIR"))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise the race detector delays the exit of each program by one second
			env.Values["cluster"] = fake
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":   exits,
			"cluster": changeCluster,
		},
	})
}

// exits runs a command and checks its exit code: exits CODE COMMAND ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("run %v: %v", args[1:], err)
	}
	if got != want {
		ts.Fatalf("%v: got exit code %d, want %d", args[1:], got, want)
	}
}

// changeCluster changes the cluster in memory while a script runs.
func changeCluster(ts *testscript.TestScript, neg bool, args []string) {
	fake := ts.Value("cluster").(*fakeCluster)
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: cluster touch-on-put JOB | fail-reads N")
	case args[0] == "touch-on-put" && len(args) == 2:
		fake.touchOnPut(args[1])
	case args[0] == "fail-reads" && len(args) == 2:
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		fake.failReads(n)
	default:
		ts.Fatalf("unknown change %q", args)
	}
}
