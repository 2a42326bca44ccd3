package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

const (
	// containerName is the name of the job's container in the pod.
	containerName = "job"
	// managedLabel is the label of all objects that rota creates; its value is "rota".
	managedLabel = "app.kubernetes.io/managed-by"
	// runLabel is the label with the hash of the run. Annotations hold what does not fit into labels.
	runLabel = "rota/run-hash"
	// jobLabel is the label with which Kubernetes names the Job of a pod.
	jobLabel          = "job-name"
	runAnnotation     = "rota/run"
	attemptAnnotation = "rota/attempt"
	tokenAnnotation   = "rota/fencing-token"
	// keepEnded is how long Kubernetes keeps an ended Job.
	keepEnded = time.Hour
	// jobMargin is how long the deadline of a Job is behind that of its pod. When the API server comes back, Kubernetes deletes the
	// pods of Jobs behind their deadline, also of those that ended in time. So the kubelet ends the pod, and the deadline of the Job
	// only one that has no node.
	jobMargin = time.Hour
)

// resolved has the variables of a container.
type resolved struct {
	plain, secret map[string]string // secret: those with values of references
	secrets       []string          // the values of references
	err           error             // why a reference has no value
}

// resolve returns the variables of an attempt.
func (e *Executor) resolve(req *executor.Request) (r resolved) {
	resolver := refs.Resolver{Policy: e.cfg.Refs}
	r.plain, r.secret, r.err = environment(req, &resolver)
	r.secrets = resolver.Secrets()
	return r
}

// environment returns the variables of the container, and those of them that have a value of a reference.
func environment(req *executor.Request, resolver *refs.Resolver) (plain, secret map[string]string, err error) {
	plain, secret = make(map[string]string), make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(req.Spec.Env)) {
		text := req.Spec.Env[name]
		if !refs.Has(text) {
			plain[name] = text
		} else if secret[name], err = resolver.Expand(text); err != nil {
			return nil, nil, err
		}
	}
	for name, value := range req.Variables() {
		delete(secret, name)
		plain[name] = value
	}
	return plain, secret, nil
}

// manifest returns the Job of an attempt. If it has secrets, it is suspended until its Secret exists.
func manifest(req *executor.Request, plain, secret map[string]string) (map[string]any, error) {
	k, name := req.Spec.Kubernetes, req.Run.PodJob()
	template := map[string]any{}
	if len(k.Template) > 0 {
		if err := json.Unmarshal(k.Template, &template); err != nil {
			return nil, fmt.Errorf("read kubernetes.template: %w", err)
		}
	}
	labels := map[string]any{managedLabel: "rota", runLabel: req.Run.PodHash()}
	annotations := map[string]any{
		runAnnotation: req.Run.Name(), attemptAnnotation: strconv.Itoa(req.Run.Attempt),
		tokenAnnotation: strconv.FormatInt(req.Run.Token, 10),
	}
	meta := child(template, "metadata")
	maps.Copy(child(meta, "labels"), labels)
	maps.Copy(child(meta, "annotations"), annotations)
	fillPod(child(template, "spec"), req, plain, secret)
	return map[string]any{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{"name": name, "labels": labels, "annotations": annotations},
		"spec": map[string]any{
			"backoffLimit": 0, "completions": 1, "parallelism": 1, "suspend": len(secret) > 0,
			"podReplacementPolicy": "Failed", "ttlSecondsAfterFinished": seconds(keepEnded),
			"activeDeadlineSeconds": seconds(req.Spec.Timeout.Std() + jobMargin), "template": template,
		},
	}, nil
}

// fillPod adds to the spec of a pod what the job says. The job's own container may be in it already.
func fillPod(spec map[string]any, req *executor.Request, plain, secret map[string]string) {
	k := req.Spec.Kubernetes
	spec["restartPolicy"] = "Never"
	limit := seconds(req.Spec.Timeout.Std())
	if own, ok := spec["activeDeadlineSeconds"].(float64); !ok || own > float64(limit) {
		spec["activeDeadlineSeconds"] = limit
	}
	spec["terminationGracePeriodSeconds"] = seconds(req.Spec.KillGrace.Std())
	if k.ServiceAccount != "" {
		spec["serviceAccountName"] = k.ServiceAccount
	} else if spec["serviceAccountName"] == nil && spec["automountServiceAccountToken"] == nil {
		spec["automountServiceAccountToken"] = false
	}
	containers, _ := spec["containers"].([]any)
	var c map[string]any
	for _, other := range containers {
		if m, ok := other.(map[string]any); ok && m["name"] == containerName {
			c = m
		}
	}
	if c == nil {
		c = map[string]any{"name": containerName}
		containers = append([]any{c}, containers...)
	}
	c["image"] = k.Image
	if k.Command != nil {
		c["command"] = k.Command
	}
	if k.Args != nil {
		c["args"] = k.Args
	}
	if policy, ok := pullPolicies[k.Pull]; ok {
		c["imagePullPolicy"] = policy
	}
	if len(k.Resources) > 0 {
		c["resources"] = k.Resources
	}
	env, _ := c["env"].([]any)
	c["env"] = append(env, variables(req.Run.PodJob(), plain, secret)...)
	spec["containers"] = containers
}

var pullPolicies = map[job.Pull]string{job.PullAlways: "Always", job.PullMissing: "IfNotPresent", job.PullNever: "Never"}

// variables returns the variables as Kubernetes wants them. Kubernetes replaces $(NAME) in plain values, so each $ is doubled.
func variables(secretName string, plain, secret map[string]string) (list []any) {
	for _, name := range slices.Sorted(maps.Keys(plain)) {
		list = append(list, map[string]any{"name": name, "value": strings.ReplaceAll(plain[name], "$", "$$")})
	}
	for _, name := range slices.Sorted(maps.Keys(secret)) {
		list = append(list, map[string]any{"name": name, "valueFrom": map[string]any{
			"secretKeyRef": map[string]any{"name": secretName, "key": name},
		}})
	}
	return list
}

// child returns the mapping under a key. It adds one if there is none.
func child(of map[string]any, key string) map[string]any {
	if m, ok := of[key].(map[string]any); ok {
		return m
	}
	m := map[string]any{}
	of[key] = m
	return m
}

// seconds returns d in whole seconds, rounded up, and at least 1.
func seconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
