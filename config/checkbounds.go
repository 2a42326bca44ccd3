package config

import (
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// checkKinds reports kinds of actions that do not exist, or the lack of any.
func (s *Settings) checkKinds(fail func(key, hint, format string, args ...any)) {
	hint := "write some of " + strings.Join(job.WorkerKinds(), ", ")
	if len(s.Worker.Kinds) == 0 {
		fail("worker.kinds", "to execute nothing here set worker.enabled: false", "is empty")
	}
	for i, kind := range s.Worker.Kinds {
		if !slices.Contains(job.WorkerKinds(), kind) {
			fail("worker.kinds", hint, "%s is no kind of action", quote(kind))
		} else if slices.Contains(s.Worker.Kinds[:i], kind) {
			fail("worker.kinds", hint, "%s is named twice", quote(kind))
		}
	}
}

// checkBounds reports bounds that no cluster can have.
func (s *Settings) checkBounds(fail func(key, hint, format string, args ...any)) {
	percent := func(key string, value, low int, hint string) {
		if value < low || value > 100 {
			fail(key, hint, "%d is not between %d and 100", value, low)
		}
	}
	atLeast := func(key string, value, low int, hint string) {
		if value < low {
			fail(key, hint, "%d is less than %d", value, low)
		}
	}
	atLeast("history.success", s.History.Success, 1, "write 1 or more")
	atLeast("history.failed", s.History.Failed, 1, "write 1 or more")
	percent("worker.pressure.memory", s.Worker.Pressure.Memory, 0, "write a percentage, such as 60, or 0 for no limit")
	percent("worker.pressure.cpu", s.Worker.Pressure.CPU, 0, "write a percentage, such as 90, or 0 for no limit")
	atLeast("bounds.waiting", s.Bounds.Waiting, 1, "write 1 or more")
	atLeast("metrics.jobs", s.Metrics.Jobs, 0, "write 0 for none")
	atLeast("bounds.jobs", s.Bounds.Jobs, 1, "write 1 or more")
	atLeast("bounds.reads", s.Bounds.Reads, 0, "write 0 for any number")
	percent("bounds.space", s.Bounds.Space, 1, "write a percentage, such as 80")
}

// checkPing reports a ping of the cluster that cannot be sent.
func (s *Settings) checkPing(fail func(key, hint, format string, args ...any)) {
	p := s.Notify.Ping
	begins := func(with string) bool { return strings.HasPrefix(p.URL, with) }
	if p.URL != "" && !begins("${") && !begins("https://") && !begins("http://") {
		fail("notify.ping.url", "such as https://hc-ping.com/${env:ROTA_SECRET_CHECK}", "does not begin with https:// or http://")
	}
	if !slices.Contains(job.PingServices(), job.PingService(p.Service)) {
		fail("notify.ping.service", "write "+oneOf(job.PingServices()), "%s is no service for pings", quote(p.Service))
	}
	if p.Every < time.Second {
		fail("notify.ping.every", "write 1s or more, such as 1m", "%v is less than 1s", p.Every)
	}
}
