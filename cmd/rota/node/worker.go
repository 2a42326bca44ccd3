package node

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/cmd/rota/internal/presence"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/worker"
)

// kinds returns what the worker executes; nil for the usual kinds, so that older leaders see no difference.
func (n *Node) kinds() []string {
	kinds := slices.Sorted(slices.Values(n.set.Worker.Kinds))
	if slices.Equal(kinds, slices.Sorted(slices.Values(job.UsualKinds()))) {
		return nil
	}
	return kinds
}

// works reports whether this node executes attempts.
func (n *Node) works() bool { return n.cfg.Role == WorkerOnly || n.set.Worker.Enabled }

// pressureLimits returns the pressure from which the worker takes no runs.
func (n *Node) pressureLimits() worker.Pressure {
	of := n.set.Worker.Pressure
	return worker.Pressure{Memory: float64(of.Memory), CPU: float64(of.CPU)}
}

// startWorker runs the worker, if this node has one.
func (n *Node) startWorker(background starter, stops *closers) error {
	if !n.works() {
		return nil
	}
	groups := n.openGroups()
	stops.add("remove cgroups", groups.Close)
	executors, closeExec, err := n.executors(groups, background)
	if err != nil {
		return err
	}
	exec := n.traced(executors)
	cfg := worker.Config{
		Name: n.set.Node.Name, Addr: n.set.HTTP.Advertise, Version: n.cfg.Version.Version,
		Capacity: n.set.Worker.Capacity, Labels: n.set.Worker.Labels, Handlers: slices.Sorted(maps.Keys(n.cfg.Handlers)),
		Limits: groups.Controllers(), Kinds: n.kinds(), TLSOptional: n.optionalTLS(),
		DataDir: n.set.Node.DataDir, ShutdownGrace: n.set.Worker.ShutdownGrace,
		Uploads: n.openUploads(), NannyCommand: n.cfg.Nanny, StartCheck: command.CheckStart, KindCheck: executors.Check,
		Pressure: worker.PressureReader(), PressureLimits: n.pressureLimits(),
		Observer: n.metrics, Now: n.now, LeaderNow: n.clocks.LeaderNow,
	}.Defaults()
	if n.cfg.Role == Replica {
		cfg.Known, cfg.Paused = n.known, n.paused
	}
	if n.tracer != nil {
		cfg.Tracer = n.tracer
	}
	if err := cfg.Validate(); err != nil {
		return failure.Config(err)
	}
	journal, err := n.openJournal()
	if err != nil {
		return failure.Place(err)
	}
	stops.add("close journal", journal.Close)
	stops.add("close http executor", func() error { closeExec(); return nil })
	n.worker = worker.New(cfg, n.store, presence.Sessions{Store: n.store}, exec, journal, n.log.Named("worker"))
	background("work", n.work)
	return nil
}

// openJournal opens the worker's journal. It sets a damaged one aside: otherwise this node would end at each start.
func (n *Node) openJournal() (*worker.Journal, error) {
	path := filepath.Join(n.set.Node.DataDir, "journal.db")
	journal, err := worker.OpenJournal(path)
	if !errors.Is(err, worker.ErrDamaged) {
		return journal, err
	}
	to, moved := worker.SetAside(path, n.now())
	if moved != nil {
		return nil, errors.Join(err, moved)
	}
	n.log.Error("the journal is damaged and was set aside, and its outcomes are lost", "file", to, "err", err)
	return worker.OpenJournal(path)
}

// work runs the worker, and the upload of its output.
func (n *Node) work(ctx context.Context) error {
	defer n.startUploads(ctx)()
	err := n.worker.Run(ctx)
	if errors.Is(err, worker.ErrNameTaken) {
		return failure.Config(&NameTakenError{Name: n.set.Node.Name})
	}
	return err
}

// known returns a job from the mirror; nil if the job was deleted. It returns false if the mirror has only a version older than
// rev.
func (n *Node) known(name string, rev int64) (*job.Job, bool) {
	if j, ok := n.mirror.Job(name); ok {
		return j, j.Rev >= rev
	}
	return nil, n.mirror.NoJob(name, rev)
}

// paused reports whether the mirror shows that all jobs were paused after a revision, and still are.
func (n *Node) paused(after int64) bool {
	g := n.mirror.Gate()
	return g.Paused != nil && g.Rev > after
}

// openGroups opens the cgroups that limit the resources of jobs. If there are none, the node still works: a job with a limit that
// this process cannot set goes to another worker.
func (n *Node) openGroups() *cgroups.Tree {
	groups, err := cgroups.Open()
	if err != nil {
		n.log.Info("jobs whose resources are to be limited go to other workers", "limits", strings.Join(groups.Controllers(), ", "),
			"why", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return groups
}
