package network

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
)

// The programs under test.
var rota, member string

func TestMain(m *testing.M) {
	flag.Parse()
	if left() {
		os.Exit(m.Run())
	}
	os.Exit(cluster.Main(m, func(binary, dir string) error {
		rota, member = binary, filepath.Join(dir, "member")
		build := exec.Command("go", "build", "-o", member, "github.com/rota-scheduler/rota/test/network/member")
		build.Stdout, build.Stderr = os.Stdout, os.Stderr
		return build.Run()
	}))
}

// left reports whether tests of clusters are skipped.
func left() bool { return testing.Short() || os.Getenv("ROTA_FAULTS") == "" }

// seeded returns the source of all random choices of a test, and logs how to repeat them.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	if left() {
		t.Skip("starts a cluster and cuts its links, as make fault does: set ROTA_FAULTS=1")
	}
	seed := rand.Uint64N(1e9) + 1
	if s := os.Getenv("ROTA_TEST_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("ROTA_TEST_SEED=%s: write a whole number", s)
		}
		seed = n
	}
	again := fmt.Sprintf("ROTA_FAULTS=%s ROTA_TEST_SEED=%d", os.Getenv("ROTA_FAULTS"), seed)
	for _, name := range []string{"ROTA_JEPSEN_SECONDS", "ROTA_CI_FULL"} {
		if value := os.Getenv(name); value != "" {
			again += " " + name + "=" + value
		}
	}
	t.Logf("again: %s go test ./test/network -count=1 -v -run '^%s$'", again, t.Name())
	return rand.New(rand.NewPCG(seed, 0))
}

// full reports whether faults last as long as in practice. Otherwise they last only as long as the proof needs.
func full() bool { return os.Getenv("ROTA_CI_FULL") != "" }

// all reports whether every fault is to be tested, as in `make fault` without FAULTS.
func all() bool { return full() || os.Getenv("ROTA_FAULTS") == "all" }

// lasting returns the length of a fault: long in a full run, otherwise short.
func lasting(short, long time.Duration) time.Duration {
	if full() {
		return long
	}
	return short
}
