package web

import (
	"bytes"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// runData is the data of the view run.
type runData struct {
	Run      api.RunView
	Attempts []attempt
	Parts    []part // how long the run waited, and for what
	Explain  api.ExplainView
	Output   template.HTML
	Part     bool   // the output is only its end
	NoOutput string // why there is none
	Attempt  int    // whose output is shown
	Live     string // where the script reads further output; empty if the attempt has ended
	Raw      string
	Payload  string
	Params   string
	Graph    *graph // the workflow of the run; nil if it has none
	Resume   bool   // the workflow can be resumed from the run

	Container *container // of the present attempt; nil for other kinds of jobs
	Trace     string     // id of its trace

	Inputs  []value // from the runs that it follows
	Outputs []value // for the runs that follow it
}

// attempt is one attempt on the time line.
type attempt struct {
	Number         int
	Worker         string
	Token          int64
	State          job.State
	Reason         string
	Exit           *int
	Started, Ended time.Time // Ended zero: it is running
	Took           time.Duration
	X, Width       float64 // of 1000, on the time line
	Link           string
	Here           bool
}

// part is a part of the time between a slot and its start.
type part struct {
	Name, Text string
	Took       time.Duration
}

// outputTail is how many bytes of output a page shows without the script.
const outputTail = 64 << 10

func (s *site) run(r *http.Request) (*page, error) {
	name, id := r.PathValue("job"), r.PathValue("slot")
	path := "/v1/runs/" + url.PathEscape(name) + "/" + url.PathEscape(id)
	v, err := get[api.RunView](s, r, path)
	if err != nil {
		return nil, err
	}
	now := s.ops.Now()
	d := &runData{Run: v, Attempts: attemptsOf(&v, now), Payload: string(v.Payload), Params: v.ParamsText()}
	d.Attempt, _ = strconv.Atoi(r.URL.Query().Get("attempt"))
	if d.Attempt == 0 {
		d.Attempt = v.Attempt
	}
	for i := range d.Attempts {
		d.Attempts[i].Here = d.Attempts[i].Number == d.Attempt
		d.Attempts[i].Link = "?attempt=" + strconv.Itoa(d.Attempts[i].Number)
	}
	if v.Copies == nil {
		s.addOutput(r, d, path)
	} else {
		d.NoOutput = "Each copy has its own output."
	}
	d.Container, d.Trace = s.container(r, &v), traceOf(&v)
	d.Inputs, d.Outputs = s.inputsOf(r, &v), outputsOf(&v)
	d.Graph = s.workflow(r, name, id)
	d.Resume = d.Graph != nil && (classOf(v.State) == "bad" || v.State == job.Canceled)
	if v.Kind == job.KindScheduled {
		at := url.QueryEscape(v.Slot.UTC().Format(time.RFC3339Nano))
		d.Explain, err = get[api.ExplainView](s, r, jobPath(name)+"/explain?time="+at)
		if problem := (*api.Problem)(nil); err != nil && !errors.As(err, &problem) {
			return nil, err
		}
	}
	d.Parts = latenessOf(&v, &d.Explain, now)
	return &page{View: "run", Title: name + " " + id, Data: d, Watch: name}, nil
}

// addOutput adds the output of the attempt.
func (s *site) addOutput(r *http.Request, d *runData, path string) {
	if d.Run.Attempt == 0 {
		d.NoOutput = "No attempt has begun."
		return
	}
	var out bytes.Buffer
	d.Raw = path + "/logs?attempt=" + strconv.Itoa(d.Attempt)
	err := s.ops.Do(r, http.MethodGet, d.Raw, nil, nil, &out)
	text := out.Bytes()
	switch {
	case err != nil && d.Run.Output != "" && d.Attempt == d.Run.Attempt:
		text, d.Part = []byte(d.Run.Output), true
	case err != nil:
		d.NoOutput = err.Error()
	case len(text) == 0 && d.Run.State.Terminal():
		d.NoOutput = "The attempt printed nothing."
	}
	if len(text) > outputTail {
		text, d.Part = fromLine(text[len(text)-outputTail:]), true
	}
	d.Output = ansiHTML(text)
	if d.Run.State == job.Running && d.Attempt == d.Run.Attempt {
		d.Live = d.Raw + "&follow=true"
	}
}

// longestCut is how much of a first line fromLine removes at most.
const longestCut = 4096

// fromLine removes the rest of a line from the beginning of a text. Such a rest may begin within a letter, or within the parameters
// of a color. A line that is very long stays.
func fromLine(text []byte) []byte {
	if end := bytes.IndexByte(text[:min(longestCut, len(text))], '\n'); end >= 0 {
		return text[end+1:]
	}
	return text
}

// attemptsOf returns all attempts of a run, with their places on a common time line.
func attemptsOf(v *api.RunView, now time.Time) (list []attempt) {
	for _, a := range v.Attempts {
		list = append(list, attempt{
			Number: a.Number, Worker: a.Worker, Token: a.Token, State: a.State, Reason: a.Reason, Exit: a.Exit,
			Started: a.Started, Ended: a.Finished,
		})
	}
	if last := len(list); (v.State == job.Running || v.State == job.Armed) && (last == 0 || list[last-1].Number < v.Attempt) {
		list = append(list, attempt{Number: v.Attempt, Worker: v.Worker, Token: v.Token, State: v.State, Started: v.Started})
	}
	from, to := v.Slot, now
	if v.Slot.Before(v.Created) && v.Kind != job.KindScheduled {
		from = v.Created
	}
	if !v.Finished.IsZero() {
		to = v.Finished
	}
	whole := max(to.Sub(from), time.Millisecond)
	for i := range list {
		a := &list[i]
		end := a.Ended
		if end.IsZero() {
			end = now
		}
		if a.Started.IsZero() {
			continue
		}
		a.Took = end.Sub(a.Started)
		a.X = round(max(0, min(995, float64(a.Started.Sub(from))/float64(whole)*1000)))
		a.Width = round(max(5, min(1000-a.X, float64(a.Took)/float64(whole)*1000)))
	}
	return list
}

// waitedFor says what a run waited for until the leader gave it to a worker. why is the explanation of its slot.
func waitedFor(v *api.RunView, why *api.ExplainView) (cause, text string) {
	switch {
	case v.Late && why.Ref == v.Ref && why.Behind != "":
		return "run before it", why.Late
	case v.Late && why.Ref == v.Ref && why.Late != "":
		return "leader", why.Late
	case v.Late:
		return "leader", "no leader could dispatch it in time, or it waited behind a late run"
	case len(v.Limits) > 0:
		return "limit, room", "until the limits (" + strings.Join(v.Limits, ", ") + ") and a worker had room"
	}
	return "room", "until a worker had room"
}

// latenessOf splits the time between the slot and the start of the present attempt.
func latenessOf(v *api.RunView, why *api.ExplainView, now time.Time) (list []part) {
	add := func(name, text string, took time.Duration) {
		if took >= time.Millisecond {
			list = append(list, part{name, text, took})
		}
	}
	if v.Attempt > 1 || v.State == job.Skipped || v.Copies != nil {
		return nil // the record has only the times of the present attempt, and copies have their own
	}
	a := v.Approval
	switch {
	case v.Asked() && a.Approved:
		add("approval", "until a person approved it", a.At.Sub(a.Asked))
	case v.Kind == job.KindScheduled && !v.Asked() && len(v.After) == 0:
		add("jitter", "the job's jitter delays every slot", v.Due.Sub(v.Slot))
	}
	switch {
	case !v.Started.IsZero() && !v.Armed.IsZero():
		cause, text := waitedFor(v, why)
		add(cause, text, v.Armed.Sub(v.Due))
		add("claim", "until the worker had claimed and started it", v.Started.Sub(job.Later(v.Armed, v.Due)))
	case v.State == job.Pending && now.After(v.WaitsSince()):
		add("waiting", strings.TrimSuffix(v.Reason, "."), now.Sub(v.WaitsSince()))
	}
	return list
}
