package attention_test

import (
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestStatusNamesTheWorkerUnderPressure(t *testing.T) {
	items := attention.OfWorkers([]*job.Worker{{Name: "w1"}, {Name: "w2", Pressure: "memory pressure 71 %, limit 60 %"}})
	if len(items) != 1 || items[0].Kind != attention.Pressure || items[0].Node != "w2" || !strings.Contains(items[0].Text, "71 %") {
		t.Errorf("got %+v", items)
	}
}

func TestStatusNamesABrokenWorker(t *testing.T) {
	items := attention.OfWorkers([]*job.Worker{{Name: "w1"}, {Name: "w2", Broken: "the disk of /srv cannot be written to"}})
	if len(items) != 1 || items[0].Kind != attention.Broken || items[0].Node != "w2" || !strings.Contains(items[0].Text, "/srv") {
		t.Errorf("got %+v", items)
	}
}

func TestStatusNamesAWorkerWithoutItsEngine(t *testing.T) {
	w := &job.Worker{Name: "w2", Kinds: []string{"command", "container"}, Away: map[string]string{"container": "no engine answers"}}
	items := attention.OfWorkers([]*job.Worker{{Name: "w1"}, w})
	const want = "Worker w2 takes no container jobs until this is repaired: no engine answers."
	if len(items) != 1 || items[0].Kind != attention.Broken || items[0].Node != "w2" || items[0].Text != want {
		t.Errorf("got %+v, want %q", items, want)
	}
}
