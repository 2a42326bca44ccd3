package job_test

import (
	"encoding/json"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]job.Size{
		"512MiB": 512 << 20, "512Mi": 512 << 20, "1GiB": 1 << 30, "1.5GiB": 3 << 29, "64KiB": 64 << 10, "1536MiB": 3 << 29,
		"2TiB": 2 << 40, "0MiB": 0, "0.5KiB": 512,
	} {
		got, err := job.ParseSize(text)
		if err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
		if again, err := job.ParseSize(got.String()); err != nil || again != got {
			t.Errorf("%q is written %s, which is %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{
		"", "512", "64M", "64m", "64MB", "1G", "1k", "64mib", "64 MiB", "-1MiB", "+1MiB", "1e3MiB", "MiB", "1.2.3MiB", "1MiBB", "1BMi",
		"0x10MiB", "infMiB", "99999999999TiB", "12%",
	} {
		if got, err := job.ParseSize(text); err == nil {
			t.Errorf("%q is accepted as %d", text, got)
		}
	}
}

func TestCPUs(t *testing.T) {
	for text, want := range map[string]job.CPUs{"1": 1000, "0.5": 500, "500m": 500, "1.25": 1250, "16": 16000, ".1": 100, "0.001": 1, "1.0": 1000} {
		got, err := job.ParseCPUs(text)
		if err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
		if again, err := job.ParseCPUs(got.String()); err != nil || again != got {
			t.Errorf("%q is written %s, which is %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "m", "50%", "-1", "+1", "1e3", "0.0001", "1.5m", "1 ", "1mm", "inf", "NaN", "9999999999"} {
		if got, err := job.ParseCPUs(text); err == nil {
			t.Errorf("%q is accepted as %d", text, got)
		}
	}
}

func TestResourcesAreTextInJSON(t *testing.T) {
	all := job.Resources{Memory: 512 << 20, CPU: 1000, PIDs: 64}
	b, err := json.Marshal(&all)
	if want := `{"memory":"512MiB","cpu":"1","pids":64}`; err != nil || string(b) != want {
		t.Errorf("got %s, %v; want %s", b, err, want)
	}
	var read job.Resources
	if err := json.Unmarshal(b, &read); err != nil || read != all {
		t.Errorf("read as %+v, %v", read, err)
	}
	if err := json.Unmarshal([]byte(`{"memory":512}`), &read); err == nil {
		t.Error("a size without a unit is accepted")
	}
}

func TestWorkersWithoutResourceLimitsAreNotChosen(t *testing.T) {
	spec := job.Spec{Shell: "true", Resources: &job.Resources{Memory: 1 << 30, PIDs: 9}}
	for _, tt := range []struct {
		limits []string
		want   bool
	}{{nil, false}, {[]string{"memory"}, false}, {[]string{"memory", "pids"}, true}, {[]string{"cpu", "memory", "pids"}, true}} {
		w := job.Worker{Limits: tt.limits}
		if got := w.Accepts(&spec); got != tt.want {
			t.Errorf("worker that limits %q accepts it: %v, want %v", tt.limits, got, tt.want)
		}
		if !w.Accepts(&job.Spec{Shell: "true", Resources: &job.Resources{}}) {
			t.Error("a worker is asked to limit what has no limit")
		}
	}
}
