package runbooks

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/server/v3/etcdmain"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/lacking"
)

// Variables of the environment of this test binary.
const (
	insideVariable = "ROTA_RUNBOOKS_INSIDE" // set: the process is in namespaces of its own
	etcdVariable   = "RUNBOOKS_ETCD"        // the program of etcd that the process plays: etcd or etcdctl
	unitVariable   = "RUNBOOKS_UNIT"        // the unit of systemd that the process plays
)

var (
	update = flag.Bool("update", false, "write the durations into the pages")

	binary  string // the rota under test
	scratch string // a directory for the hosts
)

// TestMain runs the tests in namespaces of their own. Processes that a test leaves behind end with the first process in there.
func TestMain(m *testing.M) {
	switch os.Getenv(etcdVariable) {
	case "etcd":
		etcdmain.Main(append([]string{"etcd"}, os.Args[1:]...))
		os.Exit(0)
	case "etcdctl":
		ctlv3.MustStart()
		os.Exit(0)
	}
	if unit := os.Getenv(unitVariable); unit != "" {
		_ = os.Unsetenv(unitVariable)
		os.Exit(supervise(unit, os.Args[1:]))
	}
	flag.Parse()
	switch {
	case testing.Short() || os.Getenv("ROTA_FAULTS") == "" || missing() != "":
		os.Exit(m.Run()) // the tests skip themselves
	case os.Getenv(insideVariable) == "":
		os.Exit(enter())
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare the hosts:", err)
		code = 1
	}
	os.Exit(code)
}

// enter runs this program again, with a network, mounts and process ids of its own.
func enter() int {
	runtime.LockOSThread() // Pdeathsig speaks of the thread
	// The shell reaps processes whose parents have ended.
	args := []string{"--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", `"$0" "$@"; exit $?`}
	cmd := exec.Command("unshare", append(append(args, os.Args[0]), os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if ended := new(exec.ExitError); errors.As(err, &ended) {
		return ended.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "enter namespaces:", err)
		return 1
	}
	return 0
}

// run builds rota and runs the tests.
func run(m *testing.M) (code int, err error) {
	if scratch, err = os.MkdirTemp("", "rota-runbooks-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(scratch)
	if binary, err = cluster.Program(scratch); err != nil {
		return 1, err
	}
	remove, err := prepare()
	if err != nil {
		return 1, err
	}
	defer remove()
	return m.Run(), nil
}

// missing returns what the machine lacks for these tests.
func missing() string {
	if os.Getuid() != 0 {
		return "root"
	}
	for _, program := range []string{"unshare", "nsenter", "ip", "openssl"} {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// begin skips the test if it cannot run or must not run here.
func begin(t *testing.T) {
	t.Helper()
	switch lack := missing(); {
	case testing.Short() || os.Getenv("ROTA_FAULTS") == "":
		t.Skip("starts clusters, as make fault does: set ROTA_FAULTS=1")
	case lack != "":
		lacking.Report(t, "%s is missing", lack)
	}
	t.Logf("again: ROTA_FAULTS=1 go test ./test/runbooks -count=1 -v -run '^%s$'", t.Name())
}
