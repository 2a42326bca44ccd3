package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

const (
	// firstPoll and lastPoll bound the pause between two looks at a Job. The pause grows.
	firstPoll = 200 * time.Millisecond
	lastPoll  = 2 * time.Second
	// drainLimit is how long the rest of the output is read after the end of the container.
	drainLimit = 10 * time.Second
	// lastLook bounds the last look at a Job whose attempt is to end. lostLook does so if the attempt is lost.
	lastLook = 10 * time.Second
	lostLook = 2 * time.Second
)

// await follows the Job to its end. It returns nil if ctx ends first.
func (a *attempt) await(ctx context.Context, output *output) *job.Outcome {
	begun, limit := time.Now(), a.startTimeout()
	for wait := firstPoll; ; wait = min(2*wait, lastPoll) {
		v, err := a.view(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			a.unanswered(err)
		case err == nil:
			a.answered()
			if o := a.see(v, output); o != nil {
				return o
			}
			if reason, final := waits(v); output.pod == "" && (final || time.Since(begun) > limit) && !v.ending() {
				if !final {
					reason = fmt.Sprintf("pod did not start within %v: %s", limit, reason)
				}
				return a.giveUp(reason, output)
			}
		}
		select {
		case <-time.After(wait):
		case <-output.wake:
			wait = firstPoll
		case <-ctx.Done():
			return nil
		}
	}
}

// startTimeout returns how long the pod may take until its container starts.
func (a *attempt) startTimeout() time.Duration {
	if k := a.req.Spec.Kubernetes; k != nil && k.StartTimeout > 0 {
		return k.StartTimeout.Std()
	}
	return job.DefaultStartTimeout.Std()
}

// see returns the outcome that v shows, after the output is complete; nil if the Job has not ended.
func (a *attempt) see(v view, output *output) *job.Outcome {
	if v.pod != nil && v.pod.started() {
		output.start(v.pod.Metadata.Name)
	}
	o := judge(v, a.label(), a.req.Spec.SuccessCodes)
	if o != nil {
		output.finish()
	}
	return o
}

// lookAgain looks a last time at a Job whose attempt is to end in state over. It returns the outcome of a Job that has ended. It
// waits for a while for an API server that does not answer, and then returns its last error.
func (a *attempt) lookAgain(over job.State, output *output) (*job.Outcome, error) {
	limit := lastLook
	if over == job.Lost {
		limit = lostLook
	}
	ctx, cancel := context.WithTimeout(a.patience, limit)
	defer cancel()
	for {
		v, err := a.view(ctx)
		switch {
		case err == nil && (v.job != nil || v.pod != nil):
			return a.see(v, output), nil
		case err == nil, ctx.Err() != nil:
			return nil, err
		}
		sleep(ctx, pollRemoved)
	}
}

// giveUp deletes a Job whose pod does not start.
func (a *attempt) giveUp(reason string, output *output) *job.Outcome {
	o := &job.Outcome{State: job.Failed, Reason: reason, Retry: true}
	if ended := a.end(o, output); ended != nil {
		return ended
	}
	return o
}

// end deletes the Job of an attempt that ends with o. If the Job turns out to have ended, end returns its outcome instead of nil.
func (a *attempt) end(o *job.Outcome, output *output) *job.Outcome {
	ended, err := a.remove(o.State != job.Lost, func(v view) *job.Outcome { return a.see(v, output) })
	if err != nil {
		o.Reason += fmt.Sprintf("; %s may continue up to its deadline: %v", a.label(), err)
	}
	return ended
}

// ending reports whether somebody has deleted the Job, or Kubernetes is about to record its end: its pod may be gone already.
func (v view) ending() bool {
	return v.job == nil || v.job.Metadata.deleted() || trueCondition(v.job.Status.Conditions, "FailureTarget") != nil ||
		trueCondition(v.job.Status.Conditions, "SuccessCriteriaMet") != nil
}

// view reads the Job and its pod.
func (a *attempt) view(ctx context.Context) (v view, err error) {
	v.job = new(batchJob)
	switch err := a.call(ctx, http.MethodGet, a.jobs()+"/"+a.name, nil, v.job); {
	case errors.Is(err, kubeapi.ErrNotFound):
		v.job = nil
	case err != nil:
		return view{}, err
	}
	var list podList
	if err := a.call(ctx, http.MethodGet, a.pods(url.Values{}), nil, &list); err != nil {
		return view{}, err
	}
	v.pod = list.latest()
	return v, nil
}

// pods returns the path of the Job's pods, with a query.
func (a *attempt) pods(query url.Values) string {
	query.Set("labelSelector", jobLabel+"="+a.name)
	return a.objects() + "/pods?" + query.Encode()
}

// output copies the log of the pod in the background.
type output struct {
	a       *attempt
	ctx     context.Context // ends the copying
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	ended   chan struct{}      // closed by finish
	wake    chan struct{}      // has an element after the stream has ended
	pod     string             // whose log is copied; "": no container has started
	replace context.CancelFunc // ends the copying from that pod
}

func (a *attempt) newOutput() *output {
	o := &output{a: a, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	o.ctx, o.cancel = context.WithCancel(a.patience)
	return o
}

// start begins to copy the log of a pod whose container has started. It leaves the earlier pod of a Job that was suspended and
// resumed.
func (o *output) start(pod string) {
	if o.pod == pod {
		return
	}
	if o.pod != "" {
		o.replace()
		o.wg.Wait()
		o.a.note("pod %s is gone; the Job continues in pod %s", o.pod, pod)
	}
	o.pod = pod
	var ctx context.Context
	ctx, o.replace = context.WithCancel(o.ctx)
	f := &follower{api: o.a.api, path: o.a.objects() + "/pods/" + pod, out: o.a.out, req: o.a.req}
	o.wg.Go(func() {
		f.follow(ctx, o.ended, func() {
			select {
			case o.wake <- struct{}{}:
			default:
			}
		})
	})
}

// finish waits for the end of the log.
func (o *output) finish() {
	defer time.AfterFunc(drainLimit, o.cancel).Stop()
	close(o.ended)
	o.wg.Wait()
}

// stop ends the copying.
func (o *output) stop() {
	o.cancel()
	o.wg.Wait()
}
