package web

import (
	"encoding/hex"
	"net/http"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// container says where the present attempt of a run executes, if that is not the worker's own process.
type container struct {
	Kind  string // Container or Pod
	Image string
	Find  string // a command that lists it
	Where string // the machine or the cluster for that command
}

// container returns the container or the pod of a run; nil if it has none.
func (s *site) container(r *http.Request, v *api.RunView) *container {
	if v.Worker == "" {
		return nil
	}
	spec := v.Spec
	if spec == nil {
		j, err := get[api.JobView](s, r, jobPath(v.Job))
		if err != nil { // the job was deleted, or the client may not see it
			return nil
		}
		spec = j.Spec
	}
	switch {
	case spec.Container != nil:
		return &container{
			Kind: "Container", Image: spec.Container.Image, Find: "docker ps --all --filter label=rota.run=" + v.Ref,
			Where: "on the machine of worker " + v.Worker,
		}
	case spec.Kubernetes != nil:
		namespace := ""
		if spec.Kubernetes.Namespace != "" {
			namespace = " --namespace " + spec.Kubernetes.Namespace
		}
		return &container{
			Kind: "Pod", Image: spec.Kubernetes.Image, Find: "kubectl get pods" + namespace + " -o wide -l job-name=" + v.PodJob(),
			Where: "shows its node",
		}
	}
	return nil
}

// traceOf returns the id of the trace of a run that has begun; "" for others.
func traceOf(v *api.RunView) string {
	if v.State == job.Pending && v.Attempt == 0 || v.State == job.Skipped {
		return ""
	}
	ids := v.TraceIDs()
	return hex.EncodeToString(ids.Trace[:])
}
