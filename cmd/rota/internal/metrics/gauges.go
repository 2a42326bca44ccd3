package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rota-scheduler/rota/scheduler"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/store"
)

// Sources holds the functions that the gauges call whenever a client requests the metrics.
type Sources struct {
	// Trace returns the id of a run's trace, for the exemplars of the lag; "" if the trace is left out. nil: there are no traces.
	Trace    func(*job.Run) string
	Version  api.VersionView
	Now      func() time.Time
	Store    func() store.Counts     // the zero Counts until there is a store
	Status   func() scheduler.Status // the zero Status without a scheduler
	Space    func() (size, quota int64, full bool)
	Ready    func() bool // reports whether all checks of /readyz pass
	Restored func() bool // reports whether the process waits for the acceptance of a restored store
	// Known reports whether a job of this name exists. Rows of a deleted job are dropped, so that old names do not accumulate. nil
	// keeps all rows, for a process without a mirror of the jobs.
	Known    func(name string) bool
	AuthFile func() bool         // reports whether the auth.file on the disk is wrong
	OpenID   func() bool         // reports whether the OpenID provider cannot be used
	Tokens   func() []auth.Token // of the store
	// Jobs returns the results of the jobs that have metrics of their own, and how many jobs have none. ok is false until there is a
	// mirror. nil: no job has any.
	Jobs func() (list []store.JobResult, left int, ok bool)
	// Runs counts the runs in the store. ok is false until there is a mirror. nil: the process has none.
	Runs func(now time.Time) (c store.RunCounts, ok bool)
}

// gauges returns the metrics whose values come from their sources.
func gauges(from Sources) []prometheus.Collector {
	counter := func(name, help string, f func(store.Counts) int64) prometheus.Collector {
		value := func() float64 { return float64(f(from.Store())) }
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value)
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	flag := func(name, help string, on func() bool) prometheus.Collector {
		return gauge(name, help, func() float64 { return oneIf(on()) })
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "rota_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": from.Version.Version, "goversion": from.Version.Go},
	})
	build.Set(1)
	return []prometheus.Collector{
		build,
		flag("rota_leader", "1 while this replica dispatches.", func() bool { return from.Status().Term != 0 }),
		gauge("rota_term", "The term that this replica leads, 0 if it does not: a store revision.",
			func() float64 { return float64(from.Status().Term) }),
		gauge("rota_dispatch_behind_seconds", "How long the oldest thing that the leader has to decide has been waiting.",
			func() float64 { return from.Status().Behind(from.Now()).Seconds() }),
		gauge("rota_worker_capacity", "Attempts that all workers together may execute at a time; 0 if this process does not lead.",
			func() float64 { return float64(from.Status().Load.Capacity) }),
		gauge("rota_runs_held", "Runs that are with workers and whose time has come; 0 if this process does not lead.",
			func() float64 { return float64(from.Status().Load.Held) }),
		runs{from.Runs, from.Now},
		gauge("rota_runs_unmatched", "Due runs that no present worker accepts; 0 if this process does not lead.",
			func() float64 { return float64(from.Status().Load.Unmatched) }),
		gauge("rota_runs_waiting", "Due runs that wait for room at a worker that accepts them; 0 if this process does not lead.",
			func() float64 { return float64(from.Status().Load.Waiting) }),
		breakers{from.Status},
		tokens{from.Tokens, from.Now},
		flag("rota_auth_file_wrong", "1 while auth.file has mistakes, so that an earlier version of it is in force.", from.AuthFile),
		flag("rota_oidc_unavailable", "1 while the OpenID provider does not answer, so that nobody can sign in by it.", from.OpenID),
		gauge("rota_store_size_bytes", "The size of etcd's largest member, 0 if it is not known.", func() float64 {
			size, _, _ := from.Space()
			return float64(size)
		}),
		gauge("rota_store_quota_bytes", "The quota of etcd's members.", func() float64 {
			_, quota, _ := from.Space()
			return float64(quota)
		}),
		flag("rota_store_full", "1 while etcd is out of space and takes nothing new.", func() bool {
			_, _, full := from.Space()
			return full
		}),
		flag("rota_store_restored", "1 while this process waits for a restored store to be accepted.", from.Restored),
		counter("rota_store_transactions_total", "Requests sent to etcd for writing, repeats included.",
			func(c store.Counts) int64 { return c.Transactions }),
		counter("rota_store_writes_total", "Changes that took effect.", func(c store.Counts) int64 { return c.Writes }),
		counter("rota_store_puts_total", "Keys that those changes put or deleted.", func(c store.Counts) int64 { return c.Puts }),
		counter("rota_store_written_bytes_total", "Bytes of those keys and their values.",
			func(c store.Counts) int64 { return c.Bytes }),
		counter("rota_store_conflicts_total", "Changes refused since a record had changed.",
			func(c store.Counts) int64 { return c.Conflicts }),
		counter("rota_store_fenced_writes_total", "Changes refused since the term was over.",
			func(c store.Counts) int64 { return c.Fenced }),
		counter("rota_store_relists_total", "Times that a watch was replaced by a new one.",
			func(c store.Counts) int64 { return c.Relists }),
	}
}

// oneIf returns the value of a gauge that says whether something is so.
func oneIf(on bool) float64 {
	if on {
		return 1
	}
	return 0
}
