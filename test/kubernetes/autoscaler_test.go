package kubernetes

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/files"
	"github.com/rota-scheduler/rota/test/lacking"
)

// scaling is what the chart tells an autoscaler: desired pods = load / perPod, rounded up, within least and most.
type scaling struct {
	query               string // Prometheus answers it with the load
	perPod, least, most float64
}

// desired returns the number of pods that an autoscaler wants.
func (s scaling) desired(load float64) int {
	return int(min(max(math.Ceil(load/s.perPod), s.least), s.most))
}

// TestTheAutoscalersCount compares the load that Prometheus computes from /metrics with the runs of a real cluster. Both autoscalers
// of the chart must want the same number of workers.
func TestTheAutoscalersCount(t *testing.T) {
	hpa, keda := autoscalers(t, "workers.capacity=2")
	if keda.perPod != hpa.perPod || keda.least != hpa.least || keda.most != hpa.most {
		t.Fatalf("the autoscalers differ: %+v and %+v", hpa, keda)
	}
	promtool := lacking.Program(t, "promtool", "prometheus")
	binary, err := cluster.Program(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := cluster.Start(t, cluster.Config{
		Binary: binary, Jobs: map[string]job.Spec{
			"long": {Command: []string{"sleep", "600"}, Overlap: job.OverlapAllow, KillGrace: job.Duration(time.Second)},
		},
		Flags: func(string) []string { return []string{"--worker-enabled=false"} },
	})
	c.AddWorker("w1", "--worker-capacity=2")
	runs := 0
	for _, want := range []struct{ runs, pods int }{{0, 10}, {20, 10}, {21, 11}, {77, 39}, {240, 100}} {
		for ; runs < want.runs; runs++ {
			if _, _, err := c.Client.Submit(t.Context(), "long", api.RunRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		var text string
		cluster.Await(t, 30*time.Second, fmt.Sprintf("the metrics count %d runs", want.runs), func() bool {
			text = ""
			held, waiting := 0.0, 0.0
			for _, n := range c.Replicas() {
				held, waiting = held+n.Metric("rota_runs_held"), waiting+n.Metric("rota_runs_waiting")
				text += series(t, n)
			}
			return held == float64(min(want.runs, 2)) && held+waiting == float64(want.runs)
		})
		evaluate(t, promtool, keda.query, text, want.runs)
		if got := hpa.desired(float64(want.runs)); got != want.pods {
			t.Errorf("%d runs: got %d pods, want %d", want.runs, got, want.pods)
		}
	}
	if _, err := c.Client.PauseAll(t.Context(), "the test is over"); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Recorder.Runs("long") {
		if _, err := c.Client.Cancel(t.Context(), r.Name(), "the test is over"); err != nil {
			t.Fatal(err)
		}
	}
	c.AwaitEnd(30 * time.Second)
}

// autoscalers reads the HorizontalPodAutoscaler and the ScaledObject of KEDA from the chart.
func autoscalers(t *testing.T, set string) (hpa, keda scaling) {
	t.Helper()
	spec := func(kind, name string) map[string]any {
		t.Helper()
		out, err := helm(t, "template", "rota", chart, "--set", "workers.enabled=true", "--set", set, "--set", "workers.autoscaling.kind="+kind)
		if err != nil {
			t.Fatal(err)
		}
		return find(t, objects(t, out), name, "rota-worker").Spec
	}
	number := func(v any) float64 {
		t.Helper()
		n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	h, k := spec("hpa", "HorizontalPodAutoscaler"), spec("keda", "ScaledObject")
	trigger := at(k, "triggers", 0, "metadata")
	return scaling{
			perPod: number(at(h, "metrics", 0, "external", "target", "averageValue")), least: number(h["minReplicas"]), most: number(h["maxReplicas"]),
		}, scaling{
			query: fmt.Sprint(at(trigger, "query")), perPod: number(at(trigger, "threshold")),
			least: number(k["minReplicaCount"]), most: number(k["maxReplicaCount"]),
		}
}

// at returns the value at a path of keys and indexes. It panics if there is none.
func at(v any, path ...any) any {
	for _, step := range path {
		if i, ok := step.(int); ok {
			v = v.([]any)[i]
		} else {
			v = v.(map[string]any)[step.(string)]
		}
	}
	return v
}

// series returns the samples of a replica that belong to autoscaling, as promtool wants them, with the labels that the Prometheus
// operator adds.
func series(t *testing.T, n *cluster.Node) string {
	t.Helper()
	resp, err := http.Get(n.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "rota_runs_held" || name == "rota_runs_waiting" {
			fmt.Fprintf(&b, "      - {series: '%s{namespace=\"default\",pod=%q}', values: '%s'}\n", name, n.Name, value)
		}
	}
	return b.String()
}

// evaluate lets Prometheus answer the query on the samples.
func evaluate(t *testing.T, promtool, query, samples string, want int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.yaml")
	text := fmt.Sprintf("tests:\n  - interval: 1m\n    input_series:\n%s    promql_expr_test:\n      - expr: %q\n        eval_time: 0m\n"+
		"        exp_samples: [{labels: '{}', value: %d}]\n", samples, query, want)
	files.Write(t, path, text)
	if out, err := exec.Command(promtool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%d runs: %v: %s\n%s", want, err, out, text)
	}
}
