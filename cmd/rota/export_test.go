package main

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAMaskedPingIsNotExported(t *testing.T) {
	if !hasMask(&job.Spec{Ping: &job.Ping{URL: api.Mask}}) {
		t.Error("the mask of a ping is exported as its URL")
	}
	if hasMask(&job.Spec{Ping: &job.Ping{URL: "https://hc-ping.com/1"}}) {
		t.Error("a ping without a mask is not exported")
	}
}
