package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// CallKind is the kind of a client's request.
type CallKind string

// The kinds of calls that are recorded.
const (
	CallSubmit CallKind = "submit"
	CallRun    CallKind = "run" // to read a run
	CallCancel CallKind = "cancel"
	CallPause  CallKind = "pause" // of one job
	CallResume CallKind = "resume"
	CallPut    CallKind = "put" // a job's definition
	CallDelete CallKind = "delete"
	CallRetry  CallKind = "retry" // to do an ended run again
)

// ofJob reports whether the call is about a job's definition. Otherwise it is about a run.
func (k CallKind) ofJob() bool {
	return k == CallPause || k == CallResume || k == CallPut || k == CallDelete
}

// Answer is the kind of the answer to a call.
type Answer string

// The kinds of answers.
const (
	Done    Answer = "done"
	Absent  Answer = "absent"  // rejected: the run or job does not exist
	Ended   Answer = "ended"   // rejected: the run to cancel has ended
	Early   Answer = "early"   // rejected: the run to retry has not ended
	Unmet   Answer = "unmet"   // rejected: the job does not meet the precondition
	Refused Answer = "refused" // rejected for another reason, and nothing was changed
	Open    Answer = "open"    // no definite answer: the call may take effect now, later or never
)

// Call is one request of a client, and its answer.
type Call struct {
	Client   int // the client: it sends one request at a time
	Kind     CallKind
	Job      string
	Key      string    // of a submission or a retry: its idempotency key
	Pause    string    // of a pause: its reason, unique in the history
	Text     string    // of a put: the description, unique in the history
	If       int64     // of a put or a delete: the required revision of the job; 0: any
	New      bool      // of a put: the job must not exist
	Run      string    // <job>/<id>: the run of the request, or the run that a submission created or found
	Asked    time.Time // when the request was sent
	Answered time.Time // when the answer arrived, or the client gave up
	Answer   Answer

	// The content of the answer, if it is Done.
	Created bool      // a submission or a retry created the run, or a put created the job
	Made    string    // of a retry: the new run, which State, Rev and Cancel show
	State   job.State // of the run
	Rev     int64     // of the run's record, or of the job's
	Cancel  bool      // a client had canceled the run
	Paused  string    // why the job is paused; empty: it is not paused
	Shown   string    // the job's description
}

func (c Call) String() string {
	what := c.Run
	if c.Kind.ofJob() {
		what = c.Job
	}
	var b strings.Builder
	fmt.Fprintf(&b, "client %d: %s %s", c.Client, c.Kind, what)
	switch {
	case c.If != 0:
		fmt.Fprintf(&b, " if at %d", c.If)
	case c.New:
		b.WriteString(" if new")
	}
	if c.Key != "" {
		fmt.Fprintf(&b, " key %s", c.Key)
	}
	fmt.Fprintf(&b, ": %s", c.Answer)
	switch {
	case c.Answer != Done:
	case c.Kind == CallDelete:
	case c.Kind == CallRetry:
		fmt.Fprintf(&b, ", as %s, %s at %d", c.Made, c.State, c.Rev)
		if c.Created {
			b.WriteString(", new")
		}
	case c.Kind.ofJob():
		fmt.Fprintf(&b, ", %q, paused %q at %d", c.Shown, c.Paused, c.Rev)
		if c.Created {
			b.WriteString(", new")
		}
	default:
		fmt.Fprintf(&b, ", %s at %d", c.State, c.Rev)
		if c.Created {
			b.WriteString(", new")
		}
		if c.Cancel {
			b.WriteString(", canceled")
		}
	}
	return b.String()
}

// checkCalls compares the answers to clients with the store.
func (t *timeline) checkCalls() {
	if len(t.Calls) == 0 {
		return
	}
	t.checkSubmissions()
	t.checkAsked()
	t.checkAnswers()
}

// submission identifies all submissions of one job with one key.
type submission struct{ job, key string }

// checkSubmissions checks that each accepted submission has a run, and that no rejected submission has one. A submission
// without an answer may have one run. No other submitted run may exist.
func (t *timeline) checkSubmissions() {
	made := make(map[submission][]string)
	keyless := make(map[string]int) // by job: runs that no answer names
	named := make(map[string]bool)
	asked := make(map[submission]Answer) // the best answer
	unknown := make(map[string]int)      // by job: submissions without a key and without an answer
	for _, c := range t.Calls {
		if c.Kind != CallSubmit {
			continue
		}
		s := submission{c.Job, c.Key}
		if c.Answer == Done {
			named[c.Run] = true
			if len(t.runs[c.Run]) == 0 {
				t.reportAs(Missed, RuleAnswer, c.Run, fmt.Sprintf("was accepted at %s, but the run never existed", stamp(c.Answered)))
			}
		}
		if c.Key == "" && c.Answer == Open {
			unknown[c.Job]++
		}
		if before, ok := asked[s]; !ok || before == Refused || before == Absent || c.Answer == Done {
			asked[s] = c.Answer
		}
	}
	for name, vs := range t.runs {
		switch r := vs[0].run; {
		case r.Kind != job.KindManual && r.Kind != job.KindDelayed:
		case r.Key == "" && !named[name]:
			keyless[r.Job]++
		case r.Key != "":
			s := submission{r.Job, r.Key}
			made[s] = append(made[s], name)
			switch answer, known := asked[s]; {
			case !known:
				t.reportAs(Unknown, RuleAnswer, name, fmt.Sprintf("has the key %q, which no client sent", r.Key))
			case answer == Refused || answer == Absent:
				t.reportAs(Unknown, RuleAnswer, name, "exists, although its submission was rejected")
			}
		}
	}
	t.checkKeys(made)
	for name, n := range keyless {
		if n > unknown[name] {
			t.reportAs(Unknown, RuleAnswer, name, fmt.Sprintf("%d runs without a key are in no answer, but only %d submissions have no answer", n, unknown[name]))
		}
	}
}

// checkAsked checks that a client requested each retry and each cancel of a run. It also checks that the new run of a retry
// exists as the client's answer says.
func (t *timeline) checkAsked() {
	named, open := make(map[string]submission), make(map[string]int) // by the new run; by the run to retry
	openKeys := make(map[submission]bool)                            // of retries with a key that were not answered
	cancels, again := make(map[string]bool), make(map[submission][]string)
	for _, c := range t.Calls {
		switch {
		case c.Kind == CallCancel && c.Answer != Refused && c.Answer != Absent:
			cancels[c.Run] = true
		case c.Kind != CallRetry:
		case c.Answer == Open && c.Key != "":
			openKeys[submission{c.Run, c.Key}] = true
		case c.Answer == Open:
			open[c.Run]++
		case c.Answer == Done:
			asked := submission{c.Run, c.Key}
			if before, twice := named[c.Made]; twice && (c.Key == "" || before != asked) {
				t.reportAs(Duplicate, RuleAnswer, c.Made, fmt.Sprintf("is the new run of two retries: of %s and of %s", before.job, c.Run))
			}
			if named[c.Made] = asked; len(t.runs[c.Made]) == 0 {
				t.reportAs(Missed, RuleAnswer, c.Made, fmt.Sprintf("was accepted at %s, but the run never existed", stamp(c.Answered)))
			}
		}
	}
	for name, vs := range t.runs {
		if c := last(vs).Cancel; byClient(c) && !cancels[name] {
			t.reportAs(Unknown, RuleAnswer, name, fmt.Sprintf("was canceled by %q without a request", c.By))
		}
		r := vs[0].run
		if r.Kind != job.KindRetry {
			continue
		}
		if r.Key != "" {
			again[submission{r.Job, r.Key}] = append(again[submission{r.Job, r.Key}], name)
		}
		switch of, told := named[name]; {
		case told && of.job != r.RetryOf:
			t.reportAs(Unknown, RuleAnswer, name, fmt.Sprintf("retries %s, but the request was for %s", r.RetryOf, of.job))
		case told && of.key != r.Key:
			t.reportAs(Unknown, RuleAnswer, name, fmt.Sprintf("has key %q, but the request had %q", r.Key, of.key))
		case told:
		case r.Key != "" && openKeys[submission{r.RetryOf, r.Key}]:
		case r.Key == "" && open[r.RetryOf] > 0:
			open[r.RetryOf]--
		default:
			t.reportAs(Unknown, RuleAnswer, name, fmt.Sprintf("retries %s without a request", r.RetryOf))
		}
	}
	t.checkKeys(again)
}

// checkKeys checks that each key has one run.
func (t *timeline) checkKeys(made map[submission][]string) {
	for s, runs := range made {
		if len(runs) > 1 {
			t.reportAs(Duplicate, RuleAnswer, runs[1], fmt.Sprintf("key %q of job %s has %d runs", s.key, s.job, len(runs)))
		}
	}
}
