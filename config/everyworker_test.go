package config_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/config"
)

func TestWorkersAllIsReadAndRefused(t *testing.T) {
	for _, tc := range []struct {
		name, keys string
		want       map[string]string // nil: refused
		text       string
	}{
		{"with a label", "workers: {zone: a, all: true}", map[string]string{"zone": "a", "all": "true"}, ""},
		{"alone", "workers: {all: true}", map[string]string{"all": "true"}, ""},
		{"false", "workers: {zone: a, all: false}", map[string]string{"zone": "a"}, ""},
		{"neither", "workers: {zone: a, all: some}", nil, "not true or false"},
		{"with approve", "workers: {all: true}, approve: {by: [sre]}", nil, "has approve and workers"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := "version: 1\njobs:\n  sweep: {every: 1m, shell: 'true', " + tc.keys + "}\n"
			files, err := config.ParseJobs("jobs.yaml", []byte(text))
			if tc.want == nil {
				if err == nil || !strings.Contains(err.Error(), tc.text) || !strings.Contains(err.Error(), "jobs.yaml:3:") {
					t.Fatalf("got error %v, want one with its line and %q", err, tc.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := files.Jobs["sweep"].Spec.Workers; !maps.Equal(got, tc.want) {
				t.Errorf("got workers %v, want %v", got, tc.want)
			}
		})
	}
}
