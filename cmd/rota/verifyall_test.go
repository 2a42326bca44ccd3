package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/store"
)

// TestVerifyReadsAllChangesIfAsked checks a store with a long history.
func TestVerifyReadsAllChangesIfAsked(t *testing.T) {
	e, client := startEtcd(t)
	for range 3 * store.BriefLog >> 20 {
		if _, err := client.Put(t.Context(), "/long/x", strings.Repeat("x", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	from := func(args ...string) (oldest int) {
		args = append([]string{"verify", "--endpoints", e.Endpoint()}, args...)
		_, said, _ := runHere([]string{"HOME=/", "ROTA_NODE_NAME=x", "ROTA_ETCD_PREFIX=/long"}, args...)
		_, revisions, _ := strings.Cut(said, "(revisions ")
		if n, err := fmt.Sscanf(revisions, "%d to", &oldest); n != 1 {
			t.Fatalf("%v: %v in %s", args, err, said)
		}
		return oldest
	}
	if brief, all := from(), from("--all-changes"); all >= brief {
		t.Errorf("verify checks from revision %d, and with --all-changes from %d", brief, all)
	}
}
