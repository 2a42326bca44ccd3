package main

import (
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestARepeatedVerdictSaysSo(t *testing.T) {
	at := time.Date(2026, 1, 31, 2, 30, 0, 0, time.UTC)
	asked := &job.Approval{By: []string{"sre"}}
	yes, no := &job.Approval{Approved: true, Who: "ann", At: at}, &job.Approval{Who: "bob\u202e", At: at}
	p := &page{full: true, now: at.Add(time.Minute)}
	for want, c := range map[string][2]*job.Approval{
		"approved": {asked, yes},
		"rejected": {nil, no},
		"was approved already: 2026-01-31T02:30:00Z (1m ago) by ann":  {yes, yes},
		"was rejected already: 2026-01-31T02:30:00Z (1m ago) by bob ": {no, no},
	} {
		if got := verdictText(p, c[0], c[1]); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
