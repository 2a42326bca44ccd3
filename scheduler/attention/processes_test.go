package attention_test

import (
	"slices"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestWorkersThatNeedAttention(t *testing.T) {
	for _, tc := range []struct {
		worker     job.Worker
		kind, text string
	}{
		{job.Worker{Pressure: "memory pressure 71 %, limit 60 %"}, attention.Pressure,
			"Worker w2 takes no runs since its machine reached memory pressure 71 %, limit 60 %."},
		{job.Worker{Broken: "the disk of /srv cannot be written to"}, attention.Broken,
			"Worker w2 takes no runs until this is repaired: the disk of /srv cannot be written to."},
		{job.Worker{Kinds: []string{"command", "container"}, Away: map[string]string{"container": "no engine answers"}}, attention.Broken,
			"Worker w2 takes no container jobs until this is repaired: no engine answers."},
		{job.Worker{OutputTrouble: "no such directory"}, attention.Output,
			"Worker w2 cannot upload output, which waits there while runs continue: no such directory."},
	} {
		tc.worker.Name = "w2"
		items := attention.OfWorkers([]*job.Worker{{Name: "w1"}, &tc.worker})
		if len(items) != 1 || items[0].Kind != tc.kind || items[0].Node != "w2" || items[0].Text != tc.text {
			t.Errorf("got %+v, want %s with %q", items, tc.kind, tc.text)
		}
	}
}

func TestAHalfClosedNetworkNeedsAttention(t *testing.T) {
	open := []string{"http.tls.optional"}
	items := attention.OfListeners(
		[]*job.Replica{{Name: "q2", TLSOptional: []string{"http.tls.optional", "etcd.embedded.tls.optional"}}, {Name: "q1"}},
		[]*job.Worker{{Name: "w1", TLSOptional: open}, {Name: "q2", TLSOptional: open}, {Name: "w2"}},
	)
	var got []string
	for _, i := range items {
		got = append(got, i.Kind+" "+i.Node+" "+i.Text)
	}
	want := []string{
		"tls_optional q2 q2 also accepts connections without TLS: http.tls.optional, etcd.embedded.tls.optional.",
		"tls_optional w1 w1 also accepts connections without TLS: http.tls.optional.",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
