package backend

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The check of a definition visits the jobs of workflows and those that the definition names. Otherwise, each job of a long file
// would take longer, the more jobs the cluster has.
func TestADefinitionIsCheckedWithoutOtherJobs(t *testing.T) {
	b := inMemory(t)
	for _, name := range []string{"alone", "load", "named", "other"} {
		b.define(t, name, `{"command":["true"]}`)
	}
	b.define(t, "report", `{"command":["true"],"after":["load"]}`)
	got := slices.Sorted(maps.Keys(b.specs("named", "unknown")))
	if diff := cmp.Diff([]string{"load", "named", "report"}, got); diff != "" {
		t.Errorf("the jobs (-want +got):\n%s", diff)
	}
}
