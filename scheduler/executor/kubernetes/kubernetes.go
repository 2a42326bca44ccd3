package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	"github.com/rota-scheduler/rota/scheduler/executor/refs"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// API calls an API server.
type API interface {
	// Call sends in as JSON and reads the answer into out; each may be nil.
	Call(ctx context.Context, method, path string, in, out any) error
	// Stream returns the answer to a GET, which the caller closes.
	Stream(ctx context.Context, path string) (io.ReadCloser, error)
}

// Config configures an Executor.
type Config struct {
	API        API
	Namespaces []string     // where jobs may be; the first one is the default
	Refs       *refs.Policy // which references jobs may use; nil: all
	Allow      []string     // fields of pods that jobs may set besides those of harmless, such as spec.hostNetwork or spec.nodeName=n1
}

// Executor executes the kind kubernetes.
type Executor struct {
	cfg   Config
	now   func() time.Time
	files executor.Files
}

var (
	_ executor.Executor = (*Executor)(nil)
	_ executor.Checker  = (*Executor)(nil)
)

// New returns an executor. It starts nothing.
func New(cfg Config, now func() time.Time) *Executor { return &Executor{cfg: cfg, now: now} }

// Execute creates the Job of the attempt, or adopts the one of an attempt whose worker was lost, and waits for its end. Exit is the
// exit code of the container.
func (e *Executor) Execute(ctx context.Context, req executor.Request) job.Outcome {
	a := &attempt{api: e.cfg.API, req: &req, name: req.Run.PodJob(), namespace: req.Spec.Kubernetes.Namespace}
	if a.namespace == "" && len(e.cfg.Namespaces) > 0 {
		a.namespace = e.cfg.Namespaces[0]
	}
	before := ctx.Err()
	v, ok := executor.ReadFiles(ctx, &e.files, req.Run.Job, func() resolved { return e.resolve(&req) })
	if !ok { // a Job of an earlier attempt may exist
		v.err = context.Cause(ctx)
	}
	out := executor.NewRedactor(req.Output, v.secrets)
	a.out = out
	var o job.Outcome
	if !slices.Contains(e.cfg.Namespaces, a.namespace) {
		o = job.Outcome{State: job.Failed, Reason: fmt.Sprintf("namespace %s is not in worker.kubernetes.namespaces, which has %s",
			a.namespace, strings.Join(e.cfg.Namespaces, ", "))}
	} else if refused := beyond(req.Spec.Kubernetes, e.cfg.Allow); refused != nil {
		o = job.Outcome{State: job.Failed, Reason: refused.Error()}
	} else {
		o = a.execute(ctx, v.plain, v.secret, v.err)
	}
	if !ok && before == nil {
		o.Reason += executor.FilesHang
	}
	o = out.Outcome(o)
	o.At = e.now()
	return o
}

// attempt is one attempt, with its Job.
type attempt struct {
	api             API
	req             *executor.Request
	out             io.Writer
	namespace, name string
	located         bool            // the API server has said whether the Job exists. From then on, this attempt may have created it
	silent          time.Time       // when the API server last gave no answer; zero: always answered
	waiting         bool            // the output says that the attempt waits for the API server
	patience        context.Context // outlives the attempt's context. It ends when another worker may execute the run
}

// execute performs the attempt. unresolved says why a reference has no value on this worker; a Job that exists needs none.
func (a *attempt) execute(ctx context.Context, plain, secret map[string]string, unresolved error) job.Outcome {
	patience, release := hurried(a.req.Hurry)
	defer release()
	a.patience = patience
	err := a.create(ctx, plain, secret, unresolved)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return job.Outcome{State: job.Failed, Reason: refused.Error(), Retry: !refused.final}
	}
	if absent, ok := errors.AsType[absentError](err); ok {
		return executor.KindAway(fmt.Errorf("ask the API server for the Job: %w", absent.error))
	}
	if executor.NoDescriptor(err) { // for the file of a reference
		return executor.NotBegun(err)
	}
	output := a.newOutput()
	defer output.stop()
	if err == nil {
		if o := a.await(ctx, output); o != nil {
			return *o
		}
	}
	return a.interrupted(ctx, output)
}

// interrupted ends the attempt whose context has ended. A Job that has ended keeps its own outcome. If the next attempt can adopt
// the Job, the Job continues. So it does after a timeout during which the API server fell silent: the Job may have ended.
func (a *attempt) interrupted(ctx context.Context, output *output) job.Outcome {
	o, _ := executor.Interrupted(ctx, a.req, time.Time{})
	ended, silence := a.lookAgain(o.State, output)
	switch adoptable := a.req.Spec.Delivery != job.AtMostOnce; {
	case ended != nil:
		return *ended
	case adoptable && o.State == job.Lost:
		o.Reason += "; " + a.label() + " continues"
		return o
	case adoptable && o.State == job.TimedOut && silence != nil && a.refused(silence) == nil:
		o.State = job.Lost
		o.Reason += fmt.Sprintf(", %s; %s may continue: %v", job.Unanswered, a.label(), silence)
		return o
	}
	if ended = a.end(&o, output); ended != nil {
		return *ended
	}
	output.finish()
	return o
}

// hurryLimit is how long an attempt may take once another worker may execute the run. It is less than executor.HurryGrace.
const hurryLimit = 400 * time.Millisecond

// hurried returns a context that ends hurryLimit after hurry is closed. The caller calls release.
func hurried(hurry <-chan struct{}) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-hurry:
			sleep(ctx, hurryLimit)
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); wg.Wait() }
}

// label names the Job in reasons and output.
func (a *attempt) label() string { return "Job " + a.namespace + "/" + a.name }

// note writes a line of rota to the output.
func (a *attempt) note(format string, args ...any) {
	fmt.Fprintf(a.out, "[rota: "+format+"]\n", args...)
}

// jobs returns the path of the Jobs, and objects that of pods and Secrets.
func (a *attempt) jobs() string    { return "/apis/batch/v1/namespaces/" + a.namespace + "/jobs" }
func (a *attempt) objects() string { return "/api/v1/namespaces/" + a.namespace }
