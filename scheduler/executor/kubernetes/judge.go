package kubernetes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// view is what the API server says about an attempt's Job.
type view struct {
	job *batchJob // nil: it does not exist
	pod *pod      // nil: there is none
}

// hopeless are the reasons of a waiting container that never starts.
var hopeless = []string{"InvalidImageName", "ErrImageNeverPull"}

// judge returns the outcome that v shows; nil if the Job has not ended. name is the Job for reasons, and success the exit codes
// that mean success.
//
// A pod that was deleted may have been so by the Job's deadline, by a person or by the node. Then the end of the Job says more than
// the exit code of a killed program. The exit code of a program that had ended before counts.
func judge(v view, name string, success []int) *job.Outcome {
	if v.endedByDeadline() {
		return timedOut(name)
	}
	if p := v.pod; p != nil && (p.Status.Phase == "Succeeded" || p.endedItself()) {
		return outcomeOf(p, success)
	}
	if v.job == nil {
		if v.pod != nil && v.pod.Status.Phase != "Failed" {
			return nil // it ends soon, or continues without its Job
		}
		return &job.Outcome{State: job.Failed, Reason: name + " was deleted before it ended", Retry: true}
	}
	if v.job.Metadata.deleted() {
		return nil // until its pod is gone
	}
	if trueCondition(v.job.Status.Conditions, "Complete") != nil {
		o := executor.ExitOutcome(0, success) // its pod was deleted since
		return &o
	}
	failed := trueCondition(v.job.Status.Conditions, "Failed")
	if failed == nil {
		return nil
	}
	if failed.Reason == deadlineExceeded {
		return timedOut(name)
	}
	o := job.Outcome{State: job.Failed, Retry: true}
	switch {
	case v.pod != nil:
		o.Reason = fmt.Sprintf("pod %s was deleted", v.pod.Metadata.Name)
		o.Exit = exitCode(v.pod)
	default:
		o.Reason = fmt.Sprintf("the pod of %s is gone: %s", name, failed.Message)
	}
	return &o
}

// deadlineExceeded is the reason of a Job that its deadline ends.
const deadlineExceeded = "DeadlineExceeded"

func timedOut(name string) *job.Outcome {
	return &job.Outcome{State: job.TimedOut, Reason: "timed out by the deadline of " + name, Retry: true}
}

// endedByDeadline reports whether the Job's deadline ended a program that then exited with 0. An exit before the deadline decides.
func (v view) endedByDeadline() bool {
	if v.job == nil || v.pod == nil || v.pod.Status.Phase != "Succeeded" || !v.pod.Metadata.deleted() {
		return false
	}
	for _, kind := range []string{"FailureTarget", "Failed"} {
		if c := trueCondition(v.job.Status.Conditions, kind); c != nil && c.Reason == deadlineExceeded {
			return !v.pod.endedBefore(v.pod.Metadata.deletedAt())
		}
	}
	return false
}

// outcomeOf returns the outcome of a pod that ended.
func outcomeOf(p *pod, success []int) *job.Outcome {
	if p.Status.Reason == deadlineExceeded && !p.endedInTime() {
		return timedOut("pod " + p.Metadata.Name)
	}
	code := exitCode(p)
	if code == nil {
		o := job.Outcome{State: job.Failed, Retry: true, Reason: fmt.Sprintf("pod %s ended as %s", p.Metadata.Name, p.Status.Phase)}
		if p.Status.Reason != "" {
			o.Reason += ": " + p.Status.Reason + ": " + p.Status.Message
		} else if p.started() {
			o.Reason += ": the node does not know the exit code"
		}
		for i := range p.Status.InitContainerStatuses {
			c := &p.Status.InitContainerStatuses[i]
			if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
				o.Reason += fmt.Sprintf(": init container %s: exit code %d", c.Name, t.ExitCode)
			}
		}
		return &o
	}
	o := executor.ExitOutcome(*code, success)
	switch ended := p.container().State.Terminated; {
	case o.State == job.Succeeded:
	case ended.Reason == "OOMKilled":
		o.Reason, o.Retry = "killed: out of memory", true
	case ended.Reason == "ContainerCannotRun", ended.Reason == "StartError":
		o.Reason = "container cannot run: " + ended.Message
	case p.Status.Reason != "" && p.Status.Reason != deadlineExceeded: // such as Evicted
		o.Reason, o.Retry = fmt.Sprintf("pod %s: %s: %s", p.Metadata.Name, p.Status.Reason, p.Status.Message), true
	}
	return &o
}

// exitCode returns the exit code of the job's container; nil if it has not ended, or if the node does not know the code.
func exitCode(p *pod) *int {
	if c := p.container(); c != nil && c.State.Terminated != nil && !slices.Contains(unknownEnds, c.State.Terminated.Reason) {
		return &c.State.Terminated.ExitCode
	}
	return nil
}

// unknownEnds are the reasons of ended containers after a restart of their node. Their exit code is made up: 137 by the kubelet,
// 255 by containerd.
var unknownEnds = []string{"ContainerStatusUnknown", "Unknown"}

// waits says why the container has not started. final reports whether it never will.
func waits(v view) (reason string, final bool) {
	p := v.pod
	switch {
	case p == nil && v.job != nil && v.job.Spec.Suspend:
		return "its Job is suspended", false
	case p == nil:
		return "Kubernetes has made no pod", false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return "no node takes the pod: " + c.Message, false
		}
	}
	c := p.waiting()
	if c == nil {
		return "pod " + p.Metadata.Name + " is " + p.Status.Phase, false
	}
	w := c.State.Waiting
	reason = w.Reason
	if w.Message != "" {
		reason += ": " + w.Message
	}
	if strings.Contains(w.Reason, "Image") {
		reason = fmt.Sprintf("image %s cannot be pulled: %s", c.Image, reason)
	}
	return reason, slices.Contains(hopeless, w.Reason)
}
