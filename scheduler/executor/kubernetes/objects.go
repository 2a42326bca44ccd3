package kubernetes

import (
	"slices"
	"time"
)

// The parts of Kubernetes objects that this package reads.

type metadata struct {
	Name              string    `json:"name"`
	UID               string    `json:"uid"`
	CreationTimestamp time.Time `json:"creationTimestamp"`
	DeletionTimestamp time.Time `json:"deletionTimestamp"` // when the grace ends
	Annotations       map[string]string
	Labels            map[string]string

	DeletionGracePeriodSeconds int64 `json:"deletionGracePeriodSeconds"`
}

// deleted reports whether somebody has deleted the object. It exists until its parts have ended.
func (m *metadata) deleted() bool { return !m.DeletionTimestamp.IsZero() }

// deletedAt returns when the object was deleted, before its grace.
func (m *metadata) deletedAt() time.Time {
	return m.DeletionTimestamp.Add(-time.Duration(m.DeletionGracePeriodSeconds) * time.Second)
}

type batchJob struct {
	Metadata metadata
	Spec     struct{ Suspend bool }
	Status   struct{ Conditions []condition }
}

type condition struct{ Type, Status, Reason, Message string }

// trueCondition returns the condition of a type if it is true; nil otherwise.
func trueCondition(list []condition, kind string) *condition {
	i := slices.IndexFunc(list, func(c condition) bool { return c.Type == kind && c.Status == "True" })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// ended reports whether Kubernetes has recorded the end of the Job.
func (j *batchJob) ended() bool {
	return trueCondition(j.Status.Conditions, "Complete") != nil || trueCondition(j.Status.Conditions, "Failed") != nil
}

type jobList struct {
	Metadata struct{ Continue string } // "": there are no more
	Items    []batchJob
}

type pod struct {
	Metadata metadata
	Spec     struct{ ActiveDeadlineSeconds int64 }
	Status   struct {
		Phase, Reason, Message string
		StartTime              time.Time
		Conditions             []condition
		InitContainerStatuses  []containerStatus
		ContainerStatuses      []containerStatus
	}
}

type containerStatus struct {
	Name, Image string
	State       struct {
		Waiting    *struct{ Reason, Message string }
		Running    *struct{}
		Terminated *struct {
			ExitCode        int
			Signal          int
			Reason, Message string
			FinishedAt      time.Time // in whole seconds, as all times of Kubernetes
		}
	}
}

// container returns the state of the job's own container; nil if there is none yet.
func (p *pod) container() *containerStatus {
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; c.Name == containerName {
			return c
		}
	}
	return nil
}

// waiting returns the container for which the job's container waits: an init container, or itself. nil: none waits.
func (p *pod) waiting() *containerStatus {
	for i := range p.Status.InitContainerStatuses {
		c := &p.Status.InitContainerStatuses[i]
		if c.State.Waiting != nil && c.State.Waiting.Reason != "PodInitializing" {
			return c
		}
	}
	if c := p.container(); c != nil && c.State.Waiting != nil {
		return c
	}
	return nil
}

// started reports whether the job's container runs or has run.
func (p *pod) started() bool {
	c := p.container()
	return c != nil && (c.State.Running != nil || c.State.Terminated != nil)
}

// over reports whether all containers have ended.
func (p *pod) over() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

// finishedAt returns when the job's container ended; the zero time if that is not known.
func (p *pod) finishedAt() (at time.Time) {
	if c := p.container(); c != nil && c.State.Terminated != nil {
		at = c.State.Terminated.FinishedAt
	}
	return at
}

// endedBefore reports whether the job's container is known to have ended before a time.
func (p *pod) endedBefore(at time.Time) bool {
	return !p.finishedAt().IsZero() && p.finishedAt().Before(at)
}

// clockMargin is by how much the clock of a node may be behind that of the API server.
const clockMargin = 2 * time.Second

// endedItself reports whether all containers have ended, and that of the job certainly before somebody deleted the pod.
func (p *pod) endedItself() bool {
	return p.over() && (!p.Metadata.deleted() || p.endedBefore(p.Metadata.deletedAt().Add(-clockMargin)))
}

// endedInTime reports whether the job's container ended before the deadline of its pod, although the kubelet saw that only later.
func (p *pod) endedInTime() bool {
	began, limit := p.Status.StartTime, time.Duration(p.Spec.ActiveDeadlineSeconds)*time.Second
	return !began.IsZero() && p.endedBefore(began.Add(limit))
}

type podList struct{ Items []pod }

// latest returns the pod that was created last; nil if there is none.
func (l *podList) latest() *pod {
	if len(l.Items) == 0 {
		return nil
	}
	p := slices.MaxFunc(l.Items, func(a, b pod) int { return a.Metadata.CreationTimestamp.Compare(b.Metadata.CreationTimestamp) })
	return &p
}
