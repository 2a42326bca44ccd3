package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/attention"
)

func TestStatusIsBounded(t *testing.T) {
	v := api.ClusterView{}
	for i := range 1000 {
		v.Attention = append(v.Attention, attention.Item{Text: fmt.Sprintf("Job job-%d fails.", i)})
		v.Quarantined = append(v.Quarantined, api.QuarantineView{Key: fmt.Sprintf("/rota/jobs/job-%d", i)})
	}
	var b bytes.Buffer
	writeCluster(&page{out: &b}, &v)
	text := b.String()
	for _, want := range []string{"1000 things to attend to", "job-19 fails", "and 980 things more", "rota/jobs/job-19\n", "and 980 records more"} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q", want)
		}
	}
	if n := strings.Count(text, "\n"); n > 120 {
		t.Errorf("got %d lines", n)
	}
}
