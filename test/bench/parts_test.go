package main

import (
	"slices"
	"testing"
)

func TestReadTrace(t *testing.T) {
	value, stack := readTrace(`-------------------------------------------
     bytes:  64B
      10ms   runtime.mallocgc (inline)
             github.com/rota-scheduler/rota/scheduler/job.Run.AppendJSON
             github.com/rota-scheduler/rota/store.(*Store).Write
`)
	want := []string{"runtime.mallocgc", "github.com/rota-scheduler/rota/scheduler/job.Run.AppendJSON",
		"github.com/rota-scheduler/rota/store.(*Store).Write"}
	if value != 0.01 || !slices.Equal(stack, want) {
		t.Errorf("got %v s of %q, want 0.01 s of %q", value, stack, want)
	}
	if got := partOf(stack); got != "codec" {
		t.Errorf("the stack belongs to %q, want codec", got)
	}
	if value, stack := readTrace("File: bench\nType: cpu\n"); value != 0 || stack != nil {
		t.Errorf("a header is a stack: %v of %q", value, stack)
	}
}
