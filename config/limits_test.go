package config

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestLimitsAreSharedByAllFiles(t *testing.T) {
	dir := files(t, map[string]string{
		"a.yaml": "jobs: {a: {shell: x, limits: [database]}}",
		"z.yaml": "# a file may have nothing else\nlimits:\n  database: {concurrent: 4, rate: 100/s}\n",
	})
	set, err := LoadJobs([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]LimitDefinition{"database": {
		Name: "database", File: filepath.Join(dir, "z.yaml"), Line: 3,
		Spec: job.LimitSpec{Concurrent: 4, Rate: job.Rate{Count: 100, Per: time.Second}},
	}}
	if diff := cmp.Diff(want, set.Limits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := set.Jobs["a"].Spec.Limits; len(got) != 1 || got[0] != "database" {
		t.Errorf("job a has the limits %v", got)
	}
}

func TestALimitIsDefinedOnce(t *testing.T) {
	dir := files(t, map[string]string{
		"a.yaml": "limits: {database: {concurrent: 4}}",
		"b.yaml": "limits: {database: {concurrent: 4}}",
	})
	_, err := LoadJobs([]string{dir})
	if err == nil || !strings.Contains(err.Error(), "duplicate limit \"database\": already defined at "+filepath.Join(dir, "a.yaml")+":1") {
		t.Errorf("got %v", err)
	}
}

func TestHashFollowsLimits(t *testing.T) {
	one := parse1(t, "jobs: {}\nlimits: {a: {concurrent: 1}}\n")
	two := parse1(t, "jobs: {}\nlimits: {a: {concurrent: 2}}\n")
	same := parse1(t, "limits:\n  a:\n    concurrent: 1\n")
	if one.Hash == two.Hash || one.Hash == parse1(t, "jobs: {}\n").Hash {
		t.Error("sets that differ in their limits have the same hash")
	}
	if one.Hash != same.Hash {
		t.Error("the same limits have another hash")
	}
}

func TestBreakerHasDefaults(t *testing.T) {
	set := parse1(t, "defaults: {breaker: {window: 10}}\njobs:\n  a: {shell: x}\n  b: {shell: x, breaker: {failure_ratio: 1}}\n  c: {shell: x, breaker: {}}\n")
	for name, want := range map[string]*job.Breaker{
		"a": {Window: 10, FailureRatio: 0.5, OpenFor: job.Duration(time.Minute)},
		"b": {Window: 10, FailureRatio: 1, OpenFor: job.Duration(time.Minute)},
		"c": nil,
	} {
		if diff := cmp.Diff(want, set.Jobs[name].Spec.Breaker); diff != "" {
			t.Errorf("job %s (-want +got):\n%s", name, diff)
		}
	}
}
