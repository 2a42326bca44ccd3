package attention_test

import (
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/attention"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAWorkerThatCannotUpload(t *testing.T) {
	items := attention.OfWorkers([]*job.Worker{{Name: "w1"}, {Name: "w2", OutputTrouble: "no such directory"}})
	if len(items) != 1 || items[0].Kind != attention.Output || items[0].Node != "w2" || !strings.Contains(items[0].Text, "no such directory") {
		t.Errorf("got %+v", items)
	}
}
