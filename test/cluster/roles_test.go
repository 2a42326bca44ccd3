package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/store/embedded"
	"github.com/rota-scheduler/rota/test/ports"
)

// roleVariable is the environment variable that holds a role. A process of the test binary that has it plays the role instead
// of running tests.
const roleVariable = "CLUSTER_TEST_ROLE"

// roles are the programs that clusters need besides rota.
var roles = map[string]func() error{
	"etcd":    playEtcd,
	"flood":   playFlood,
	"replica": playReplica,
	"stuck":   playStuck,
	"writer":  playWriter,
}

// play runs a role to its end and returns the exit code.
func play(role string) int {
	run, known := roles[role]
	err := fmt.Errorf("there is no role %q", role)
	if known {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// playEtcd runs an etcd of one member at ETCD_URL, with its data in ETCD_DIR and a quota of ETCD_QUOTA bytes.
func playEtcd() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	quota, err := strconv.ParseInt(os.Getenv("ETCD_QUOTA"), 10, 64)
	if err != nil {
		return fmt.Errorf("ETCD_QUOTA: %w", err)
	}
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Info})
	s, err := embedded.Start(ctx, embedded.Config{Dir: os.Getenv("ETCD_DIR"), Client: os.Getenv("ETCD_URL"), QuotaBytes: quota}, log)
	if err != nil {
		return err
	}
	<-ctx.Done()
	return s.Close()
}

// etcdProcess is an external etcd.
type etcdProcess struct {
	*Process
	dir      string // directory of its data
	endpoint string
}

// newEtcd makes and starts an external etcd with a quota.
func newEtcd(t *testing.T, quota int64) *etcdProcess {
	t.Helper()
	e := &etcdProcess{
		Process:  NewProcess(t, os.Args[0], "etcd"),
		dir:      filepath.Join(t.TempDir(), "etcd"),
		endpoint: fmt.Sprintf("http://127.0.0.1:%d", ports.Free(t, 1)[0]),
	}
	e.Env = []string{
		roleVariable + "=etcd", "ETCD_DIR=" + e.dir, "ETCD_URL=" + e.endpoint, "ETCD_QUOTA=" + strconv.FormatInt(quota, 10),
	}
	e.begin()
	return e
}

// begin starts it and waits until it answers.
func (e *etcdProcess) begin() {
	e.t.Helper()
	e.Start()
	client := Dial(e.t, []string{e.endpoint})
	Await(e.t, 30*time.Second, "etcd answers", func() bool {
		ctx, cancel := context.WithTimeout(e.t.Context(), time.Second)
		defer cancel()
		_, err := client.Get(ctx, "a")
		return err == nil
	})
}

// finish stops it and waits for its end.
func (e *etcdProcess) finish() {
	e.t.Helper()
	e.Signal(syscall.SIGTERM)
	e.Await(20 * time.Second)
}

// startEtcd starts an external etcd with a quota, and returns its endpoint.
func startEtcd(t *testing.T, quota int64) (endpoint string) {
	t.Helper()
	return newEtcd(t, quota).endpoint
}

// playWriter writes to TARGET with the fencing token of its run, and fails if the target rejects it.
func playWriter() error {
	client := http.Client{Timeout: 5 * time.Second}
	req, err := http.NewRequest(http.MethodPut, os.Getenv("TARGET"), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Fencing-Token", os.Getenv("ROTA_FENCING_TOKEN"))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("target answers %s: %s", resp.Status, said), err)
	}
	return nil
}
