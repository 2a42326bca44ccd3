package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
	"github.com/rota-scheduler/rota/scheduler/executor/command"
	"github.com/rota-scheduler/rota/scheduler/executor/container"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
	httpexec "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/executor/kubernetes"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// Handlers are Go functions that jobs may call, by name.
type Handlers = map[string]handler.Func

// runAs finds the user of commands: nil for the user of this process. It returns an error if this process cannot start programs
// as that user.
func (n *Node) runAs() (*command.User, error) {
	if n.set.Worker.RunAs == "" || !n.works() {
		return nil, nil
	}
	u, err := command.LookupUser(n.set.Worker.RunAs)
	if err == nil {
		err = u.Check()
	}
	if err != nil {
		return nil, failure.Config(fmt.Errorf("use worker.run_as: %w", err))
	}
	return u, nil
}

// executors returns the executors of attempts of each kind. Those that work in the background are started. The caller calls end
// when no attempt is executing.
func (n *Node) executors(groups *cgroups.Tree, background starter) (set *executor.Set, end func(), err error) {
	policy := n.references("worker.refs", n.set.Worker.Refs)
	outputs := filepath.Join(n.set.Node.DataDir, "outputs")
	commands := command.New(command.Config{
		Environ: os.Environ(), Groups: groups, Refs: policy, User: n.user, Outputs: outputs,
	}, n.now)
	requests := httpexec.New(httpexec.Config{
		Version: n.cfg.Version.Version, Refs: policy, Reach: n.reach("worker.http", n.set.Worker.HTTP),
	}, n.now)
	kinds := map[string]executor.Executor{
		"command": commands, "shell": commands, "http": requests, "handler": handler.New(n.cfg.Handlers, n.now),
	}
	if slices.Contains(n.set.Worker.Kinds, "container") {
		containers := container.New(container.Config{
			Socket: n.set.Worker.Container.Socket, Cluster: n.set.Etcd.Prefix + "@" + n.memory.Last().Cluster,
			Worker: n.set.Node.Name, Refs: policy,
			Limits: &container.Limits{Volumes: n.set.Worker.Container.Volumes, Networks: n.set.Worker.Container.Networks},
		}, n.now)
		kinds["container"] = containers
		background("sweep containers", func(ctx context.Context) error {
			return containers.Sweep(ctx, n.store.Run, n.log.Named("containers"))
		})
	}
	end = requests.Close
	if slices.Contains(n.set.Worker.Kinds, "kubernetes") {
		jobs, closeJobs, err := n.kubernetes(policy)
		if err != nil {
			return nil, nil, err
		}
		kinds["kubernetes"] = jobs
		background("sweep Jobs", func(ctx context.Context) error {
			return jobs.Sweep(ctx, n.store.Run, n.workersWithJobs, n.log.Named("kubernetes"))
		})
		end = func() { requests.Close(); closeJobs() }
	}
	for _, kind := range job.WorkerKinds() {
		if slices.Contains(n.set.Worker.Kinds, kind) {
			continue
		}
		refuses := executor.Refusal("worker.kinds of this worker does not name " + kind)
		if kinds[kind] = refuses; kind == "command" {
			kinds["shell"] = refuses
		}
	}
	return executor.NewSet(kinds, n.now), end, nil
}

// workersWithJobs counts the present workers that execute Jobs of Kubernetes.
func (n *Node) workersWithJobs(ctx context.Context) (count int, err error) {
	workers, err := n.store.Workers(ctx)
	for _, w := range workers {
		if slices.Contains(w.Kinds, "kubernetes") {
			count++
		}
	}
	return count, err
}

// kubernetes returns the executor of Jobs of Kubernetes. Without a kubeconfig file, this process runs in a pod.
func (n *Node) kubernetes(policy *refs.Policy) (e *kubernetes.Executor, end func(), err error) {
	set := n.set.Worker.Kubernetes
	var api *kubeapi.Client
	if set.Kubeconfig != "" {
		api, err = kubeapi.FromFile(set.Kubeconfig)
	} else {
		api, err = kubeapi.InCluster(kubeapi.Account, os.Getenv, nil)
	}
	if err != nil {
		return nil, nil, failure.Config(fmt.Errorf("use worker.kubernetes: %w", err))
	}
	namespaces := set.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{api.Namespace}
	}
	cfg := kubernetes.Config{API: api, Namespaces: namespaces, Refs: policy, Allow: set.Allow}
	return kubernetes.New(cfg, n.now), api.Close, nil
}
