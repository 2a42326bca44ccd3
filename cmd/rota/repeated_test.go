package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A repeated selector narrows the selection: the last one alone would select more jobs.
func TestARepeatedSelectorMustMatchToo(t *testing.T) {
	var selector string
	cmd := &cobra.Command{}
	addSelector(cmd, &selector)
	err := cmd.ParseFlags([]string{"-l", "team in (a,b)", "-l", "zone=x"})
	if want := "team in (a,b),zone=x"; err != nil || selector != want {
		t.Errorf("got %q (%v), want %q", selector, err, want)
	}
}

func TestAWorkerRefusesJobFiles(t *testing.T) {
	code, _, stderr := runHere(nil, "worker", "--jobs", "jobs.yaml", "--etcd-endpoints", "http://127.0.0.1:1")
	if want := "--jobs has no effect"; code != exitUsage || !strings.Contains(stderr, want) {
		t.Errorf("got %d, %s, want %q", code, stderr, want)
	}
}
