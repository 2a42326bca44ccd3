package cluster

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

var (
	binary  string // the rota under test
	scratch string // a folder for what is built
)

// TestMain builds the binary once, without the race detector: what is tested here are processes that die, and at the
// speed at which people run them. ROTA_TEST_BINARY names one that has been built already.
//
// The test binary is also what clusters need besides rota: see roles.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	// One cluster at a time: two of them on two cores stall for longer than leases last, which is a fault nobody asked for.
	flag.Parse()
	if err := flag.Set("test.parallel", "1"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var err error
	if scratch, err = os.MkdirTemp("", "rota-cluster-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	if binary = os.Getenv("ROTA_TEST_BINARY"); binary != "" {
		return m.Run()
	}
	binary = filepath.Join(scratch, "rota")
	build := exec.Command("go", "build", "-o", binary, "github.com/rota-scheduler/rota/cmd/rota")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build rota:", err)
		return 1
	}
	return m.Run()
}

// slow marks a test that takes long, or a whole machine, and tells how to have it again.
func slow(t *testing.T) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("starts a cluster; left out of -short")
	case os.Getenv("ROTA_FAULTS") == "rest":
		t.Skip("make test runs it: left out of make fault FAULTS=rest")
	}
	again(t)
}

// again tells how to have a test once more, with all that changes what it does.
func again(t *testing.T) {
	t.Helper()
	again := fmt.Sprintf("ROTA_FAULTS=1 ROTA_TEST_SEED=%d", seed(t))
	for _, name := range []string{"ROTA_TEST_SECONDS", "ROTA_CI_FULL", "ROTA_TAKEOVERS", "ROTA_TAKEOVER_RATE"} {
		if value := os.Getenv(name); value != "" {
			again += " " + name + "=" + value
		}
	}
	t.Logf("again: %s go test ./test/cluster -count=1 -v -run '^%s$'", again, t.Name())
}

// row marks a test that makes one of the failures happen that `make fault` goes through; there are too many for each change.
func row(t *testing.T) {
	t.Helper()
	if testing.Short() || os.Getenv("ROTA_FAULTS") == "" {
		t.Skip("makes a failure happen, as make fault does with all of them: set ROTA_FAULTS=1")
	}
	again(t)
}

// measures marks a row that finds out how fast something is, and asserts no more than others do: it is left out where time is
// short.
func measures(t *testing.T) {
	t.Helper()
	if os.Getenv("ROTA_FAULTS") == "rest" {
		t.Skip("measures what other tests assert: left out of make fault FAULTS=rest")
	}
	row(t)
}

// loadTime is how long a cluster is kept under load: ROTA_TEST_SECONDS, two minutes where ROTA_CI_FULL is set.
func loadTime(t *testing.T) time.Duration {
	t.Helper()
	if s := os.Getenv("ROTA_TEST_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 20 {
			t.Fatalf("ROTA_TEST_SECONDS=%s: write a number of seconds, at least 20", s)
		}
		return time.Duration(n) * time.Second
	}
	if os.Getenv("ROTA_CI_FULL") != "" {
		return 2 * time.Minute
	}
	return 45 * time.Second
}

// seeded returns the source of all that a test leaves to chance.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seed(t), 0))
}

// seed is ROTA_TEST_SEED, or one by chance for all tests of this process.
func seed(t *testing.T) uint64 {
	t.Helper()
	n, err := chosenSeed()
	if err != nil {
		t.Fatalf("ROTA_TEST_SEED: write a whole number: %v", err)
	}
	return n
}

var chosenSeed = sync.OnceValues(func() (uint64, error) {
	if s := os.Getenv("ROTA_TEST_SEED"); s != "" {
		return strconv.ParseUint(s, 10, 64)
	}
	return rand.Uint64N(1e9) + 1, nil
})
