package container

import (
	"maps"
	"slices"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
)

// creation is the engine's form of a container to create. A field with its zero value leaves the choice to the image or the engine.
type creation struct {
	Image      string
	Entrypoint []string          `json:",omitempty"`
	Cmd        []string          `json:",omitempty"`
	Env        []string          `json:",omitempty"`
	User       string            `json:",omitempty"`
	WorkingDir string            `json:",omitempty"`
	Labels     map[string]string `json:",omitempty"`
	HostConfig hostConfig
}

type hostConfig struct {
	Binds       []string `json:",omitempty"`
	NetworkMode string   `json:",omitempty"`
	Memory      int64    `json:",omitempty"` // bytes
	MemorySwap  int64    `json:",omitempty"` // bytes of memory and swap together
	NanoCpus    int64    `json:",omitempty"`
	PidsLimit   int64    `json:",omitempty"`
	LogConfig   logConfig
}

// logConfig keeps the output where the engine can read it back, whatever its default is, and bounds it.
type logConfig struct {
	Type   string
	Config map[string]string
}

// resolved is the container of an attempt.
type resolved struct {
	body    *creation
	secrets []string // the values of references
	err     error    // why there is no container
}

// resolve returns the container of an attempt. It asks no engine.
func (e *Executor) resolve(req *executor.Request) (r resolved) {
	resolver := refs.Resolver{Policy: e.cfg.Refs}
	r.body, r.err = e.creation(req, &resolver)
	r.secrets = resolver.Secrets()
	return r
}

// creation returns the container of an attempt, with all references resolved. The limits allow it.
func (e *Executor) creation(req *executor.Request, resolver *refs.Resolver) (*creation, error) {
	spec := req.Spec.Container
	if err := e.cfg.Limits.check(spec); err != nil {
		return nil, err
	}
	env := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(req.Spec.Env)) {
		value, err := resolver.Expand(req.Spec.Env[name])
		if err != nil {
			return nil, err
		}
		env[name] = value
	}
	maps.Copy(env, req.Variables())
	env["ROTA_OUTPUT"] = outputPath

	c := &creation{
		Image: spec.Image, User: spec.User, WorkingDir: req.Spec.Dir,
		Labels: map[string]string{
			labelCluster: e.cfg.Cluster, labelRun: req.Run.Name(), labelAttempt: strconv.Itoa(req.Run.Attempt),
			labelToken: strconv.FormatInt(req.Run.Token, 10), labelWorker: e.cfg.Worker,
		},
		HostConfig: hostConfig{
			Binds: spec.Volumes, NetworkMode: spec.Network,
			LogConfig: logConfig{Type: "json-file", Config: map[string]string{"max-size": "64m", "max-file": "2"}},
		},
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.Env = append(c.Env, name+"="+env[name])
	}
	if r := req.Spec.Resources; r != nil {
		c.HostConfig.Memory, c.HostConfig.MemorySwap = int64(r.Memory), int64(r.Memory) // equal: no swap
		c.HostConfig.NanoCpus, c.HostConfig.PidsLimit = int64(r.CPU)*1e6, int64(r.PIDs)
	}
	var err error
	if c.Entrypoint, err = expand(spec.Entrypoint, resolver); err != nil {
		return nil, err
	}
	c.Cmd, err = expand(spec.Command, resolver)
	return c, err
}

func expand(list []string, resolver *refs.Resolver) (all []string, err error) {
	for _, text := range list {
		if text, err = resolver.Expand(text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}
