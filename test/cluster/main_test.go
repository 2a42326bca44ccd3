package cluster

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

var (
	binary  string // the rota under test
	scratch string // a folder for binaries
)

// TestMain also plays the other programs of a cluster: see roles.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	// With faults, one cluster at a time: two of them on two cores would stall for longer than leases last, an unwanted fault.
	// Without, most tests wait most of the time.
	flag.Parse()
	at := "1"
	if os.Getenv("ROTA_FAULTS") == "" {
		at = "2"
	}
	if err := flag.Set("test.parallel", at); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(Main(m, func(rota, dir string) error {
		binary, scratch = rota, dir
		return nil
	}))
}

// slow marks a test that takes long or needs the whole machine, and logs how to repeat it.
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

// again logs the command that repeats a test, with all variables that change it.
func again(t *testing.T) {
	t.Helper()
	again := fmt.Sprintf("ROTA_FAULTS=1 ROTA_TEST_SEED=%d", seed(t))
	for _, name := range []string{"ROTA_TEST_SECONDS", "ROTA_CI_FULL", "ROTA_TAKEOVERS", "ROTA_TAKEOVER_RATE", "ROTA_WORKFLOW_ROUNDS"} {
		if value := os.Getenv(name); value != "" {
			again += " " + name + "=" + value
		}
	}
	t.Logf("again: %s go test ./test/cluster -count=1 -v -run '^%s$'", again, t.Name())
}

// row marks a test of a row of test/tables/scenarios.md. `make fault` runs all of them; a plain run leaves them out, because
// there are too many for each change.
func row(t *testing.T) {
	t.Helper()
	if testing.Short() || os.Getenv("ROTA_FAULTS") == "" {
		t.Skip("makes a failure happen, as make fault does with all of them: set ROTA_FAULTS=1")
	}
	again(t)
}

// measures marks a row that measures a speed. Other tests check the same promises, so it is skipped where time is short.
func measures(t *testing.T) {
	t.Helper()
	if os.Getenv("ROTA_FAULTS") == "rest" {
		t.Skip("measures what other tests assert: left out of make fault FAULTS=rest")
	}
	row(t)
}

// loadTime returns how long a cluster is under load: ROTA_TEST_SECONDS, or two minutes if ROTA_CI_FULL is set.
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

// seeded returns the source of all random choices of a test.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(seed(t), 0))
}

// seed returns ROTA_TEST_SEED, or a random seed for all tests of this process.
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
