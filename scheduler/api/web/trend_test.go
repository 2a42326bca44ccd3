package web

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestTrend(t *testing.T) {
	runs := func(seconds ...float64) (list []api.RecentRun) {
		for _, s := range seconds {
			list = append(list, api.RecentRun{State: job.Succeeded, Seconds: s})
		}
		return list
	}
	for want, list := range map[string][]api.RecentRun{
		"▲ 50 % longer":  runs(10, 10, 10, 10, 10, 15, 15, 15, 15, 15),
		"▼ 50 % shorter": runs(10, 10, 10, 10, 10, 5, 5, 5, 5, 5),
		"":               runs(10, 10, 10, 10, 10, 11, 11, 11, 11, 11),
	} {
		got := ""
		if v := trendOf(list); v != nil {
			got = v.Text
		}
		if got != want {
			t.Errorf("%v: got %q, want %q", list, got, want)
		}
	}
	if v := trendOf(runs(1, 9, 9, 9)); v != nil {
		t.Errorf("four runs have the trend %v", v)
	}
	if v := trendOf(runs(.01, .01, .01, .01, .01, .2, .2, .2, .2, .2)); v != nil {
		t.Errorf("runs of milliseconds have the trend %v", v)
	}
}
