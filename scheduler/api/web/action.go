package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// action is a change or an examination that the page offers.
type action struct {
	operation string // of the API; it declares the right
	on        subject
	prepare   func(s *site, r *http.Request, f *form) error
	perform   func(s *site, r *http.Request, f *form) (next string, err error)
}

// actions lists every action by its name in the path.
var actions = map[string]action{
	"run":             {"submit-run", onJob, prepareRun, performRun},
	"pause":           {"pause-job", onJob, preparePause, reasoned("/pause", "paused")},
	"resume":          {"resume-job", onJob, prepareResume, reasoned("/resume", "resumed")},
	"delete":          {"delete-job", onJob, prepareDelete, performDelete},
	"cancel":          {"cancel-run", onRun, prepareCancel, reasoned("/cancel", "canceled")},
	"approve":         {"approve-run", onRun, prepareApprove, reasoned("/approve", "approved")},
	"reject":          {"reject-run", onRun, prepareReject, reasoned("/reject", "rejected")},
	"retry":           {"retry-run", onRun, prepareRetry, performRetry},
	"resume-workflow": {"retry-run", onRun, prepareResumeWorkflow, performResumeWorkflow},
	"edit":            {"put-job", onJob, prepareEdit, performEdit},
	"new":             {"put-job", onCluster, prepareNew, performEdit},
	"command":         {"submit-command", onCluster, prepareCommand, performCommand},
	"pause-all":       {"pause-all", onCluster, preparePauseAll, performAll("/v1/pause", "paused")},
	"resume-all":      {"resume-all", onCluster, prepareResumeAll, performAll("/v1/resume", "resumed")},
	"pause-jobs":      {"pause-job", onSeveral, preparePauseJobs, severalJobs.perform("paused-jobs", pauseOne)},
	"resume-jobs":     {"resume-job", onSeveral, prepareResumeJobs, severalJobs.perform("resumed-jobs", resumeOne)},
	"run-jobs":        {"submit-run", onSeveral, prepareRunJobs, severalJobs.perform("ran-jobs", runOne)},
	"limit":           {"put-limit", onCluster, prepareLimit, performLimit},
	"delete-limit":    {"delete-limit", onCluster, prepareDeleteLimit, performDeleteLimit},
	"backfill":        {"start-backfill", onJob, prepareBackfill, performBackfill},
	"stop-backfill":   {"stop-backfill", onJob, prepareStopBackfill, performStopBackfill},
	"cancel-runs":     {"cancel-run", onSeveral, prepareCancelRuns, severalRuns.perform("canceled-runs", cancelOne)},
	"retry-runs":      {"retry-run", onSeveral, prepareRetryRuns, severalRuns.perform("retried-runs", retryOne)},
	"accept-restored": {"accept-restored-store", onCluster, prepareRestored, performRestored},
	"apply":           {"put-job", onCluster, prepareApply, performApply},
	"import":          {"import-schedules", onCluster, prepareImport, performImport},
	"verify":          {"verify-store", onCluster, prepareVerify, performVerify},
	"doctor":          {"examine-cluster", onCluster, prepareDoctor, performDoctor},
	"token":           {"create-token", onCluster, prepareToken, performToken},
	"rotate-token":    {"rotate-token", onCluster, prepareRotateToken, performRotateToken},
	"revoke-token":    {"revoke-token", onCluster, prepareRevokeToken, performRevokeToken},
}

// doneNotes says what an action has done, by the parameter done of the page after it.
var doneNotes = map[string]string{
	"run":      "The run was created.",
	"paused":   "Paused.",
	"resumed":  "Resumed.",
	"deleted":  "Deleted.",
	"canceled": "The end of the run was requested.",
	"approved": "Approved.",
	"rejected": "Rejected. The run is skipped.",
	"retried":  "A new run repeats the old one.",
	"saved":    "Saved.",

	"paused-jobs":      "The selected jobs are paused.",
	"resumed-jobs":     "The selected jobs are resumed.",
	"ran-jobs":         "A run of each selected job was created.",
	"resumed-workflow": "The workflow continues with this run.",
	"backfill":         "The backfill has begun.",
	"stopped-backfill": "The backfill has stopped. Its runs go on.",
	"canceled-runs":    "The end of the selected runs was requested.",
	"retried-runs":     "A new run repeats each of the selected runs.",
	"applied":          "The cluster has the definitions of the file.",
	"revoked":          "The token is revoked.",
	"accepted":         "The restored store is accepted.",
}

var reasonField = field{
	Name: "reason", Label: "Reason", Kind: "text", Help: "Others see it. It may be empty.", Example: "database migration",
}

// currentJob reads the job of a form.
func currentJob(s *site, r *http.Request, f *form) (api.JobView, error) {
	return get[api.JobView](s, r, jobPath(f.Job))
}

// firstActive names the first runs of a job that have not ended.
func firstActive(v *api.JobView) string { return strings.Join(v.Active[:min(3, len(v.Active))], ", ") }

func prepareRun(s *site, r *http.Request, f *form) error {
	v, err := currentJob(s, r, f)
	if err != nil {
		return err
	}
	f.Title, f.Verb = "Run "+f.Job, "Run"
	f.Facts = append(f.Facts, "This creates one run, beside the schedule. The job's limits, labels and timeout apply to it.")
	if n := v.ActiveRuns; n > 0 {
		f.Facts = append(f.Facts, fmt.Sprintf("%s not ended yet: %s.", verb(n, "run has", "runs have"), firstActive(&v)))
	}
	if v.Paused != nil {
		f.Facts = append(f.Facts, "The job is paused. The run waits until somebody resumes the job.")
	}
	payload := field{
		Name: "payload", Label: "Payload", Kind: "area", Value: string(v.Spec.Payload), Example: `{"month": "2026-11"}`,
		Help: "JSON. Empty: the payload of the definition.",
	}
	f.Fields = append(paramFields(v.Spec.Params), payload, startField, keyField())
	if steps := s.behind(r, f.Job); len(steps) > 0 {
		f.Fields = append(f.Fields, field{
			Name: "workflow", Label: "Steps behind it", Kind: "choice", Options: []string{jobAlone, withSteps}, Value: jobAlone,
			Help: "These steps start too, under the same id: " + strings.Join(steps, ", ") + ".",
		})
	}
	return nil
}

func performRun(s *site, r *http.Request, f *form) (string, error) {
	body := api.RunRequest{Params: f.params(), Workflow: f.value("workflow") == withSteps}
	body.In, body.At = f.start()
	if text := strings.TrimSpace(f.value("payload")); text != "" {
		if !json.Valid([]byte(text)) {
			return "", wrong("payload", "This is not JSON. Write text in double quotes.")
		}
		body.Payload = json.RawMessage(text)
	}
	var made api.RunView
	err := s.ops.Do(r, http.MethodPost, f.path()+"/runs", keyFor(r, f, ""), body, &made)
	return runLink(made.Ref) + "?done=run", err
}

func preparePause(s *site, r *http.Request, f *form) error {
	v, err := currentJob(s, r, f)
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Fields = "Pause "+f.Job, "Pause", []field{reasonField}
	f.Facts = append(f.Facts, "No further slot of the job runs until somebody resumes it. Slots that pass meanwhile are skipped.")
	if v.Next != nil {
		f.Facts = append(f.Facts, "The first slot that is skipped: "+utcText(*v.Next)+".")
	}
	if n := v.ActiveRuns; n > 0 {
		f.Facts = append(f.Facts, fmt.Sprintf("%s not ended. Those that have begun continue.", verb(n, "run has", "runs have")))
	}
	return nil
}

func prepareResume(s *site, r *http.Request, f *form) error {
	v, err := currentJob(s, r, f)
	if err != nil {
		return err
	}
	f.Title, f.Verb = "Resume "+f.Job, "Resume"
	f.Facts = []string{"The schedule of the job continues. Slots that passed during the pause stay skipped."}
	if v.Next != nil {
		f.Facts = append(f.Facts, "The next slot: "+utcText(*v.Next)+".")
	}
	return nil
}

// reasoned returns the action that posts a reason below the path of the form's job or run.
func reasoned(suffix, done string) func(*site, *http.Request, *form) (string, error) {
	return func(s *site, r *http.Request, f *form) (string, error) {
		return f.Back + "?done=" + done, s.giveReason(r, f, f.path()+suffix)
	}
}

// giveReason posts the reason of a form.
func (s *site) giveReason(r *http.Request, f *form, path string) error {
	return s.ops.Do(r, http.MethodPost, path, nil, api.ReasonRequest{Reason: f.value("reason")}, nil)
}

func prepareDelete(s *site, r *http.Request, f *form) error {
	v, err := currentJob(s, r, f)
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Danger = "Delete "+f.Job, "Delete", true
	if v.Origin.Kind == job.OriginFile {
		return f.block("The job is defined in " + v.Origin.Source + ". Remove it there, and apply the file again.")
	}
	f.Facts = append(f.Facts, "The definition is removed, and no further slot runs.")
	if n := v.ActiveRuns; n > 0 {
		const fact = "%s not ended: %s. Runs that wait are canceled."
		f.Facts = append(f.Facts, fmt.Sprintf(fact, verb(n, "run has", "runs have"), firstActive(&v)))
	}
	f.Fields = []field{{Name: "revision", Kind: "hidden", Value: fmt.Sprint(v.Revision)}}
	return nil
}

func performDelete(s *site, r *http.Request, f *form) (string, error) {
	return "/jobs?done=deleted", s.ops.Do(r, http.MethodDelete, f.path(), ifMatch(f.value("revision")), nil, nil)
}

func prepareCancel(s *site, r *http.Request, f *form) error {
	v, err := get[api.RunView](s, r, f.path())
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Danger, f.Fields = "Cancel "+v.Ref, "Cancel the run", true, []field{reasonField}
	switch {
	case v.State.Terminal():
		f.Blocked, f.Error = true, "The run has ended: "+looks[string(v.State)].words+"."
	case v.State == job.Running:
		const fact = "Attempt %d runs on worker %s. The worker ends it: first SIGTERM, and SIGKILL after the job's kill grace."
		f.Facts = []string{fmt.Sprintf(fact, v.Attempt, v.Worker)}
	default:
		f.Facts = []string{"The run has not begun. It will not begin, and ends as canceled."}
	}
	return nil
}

func prepareRetry(s *site, r *http.Request, f *form) error {
	v, err := get[api.RunView](s, r, f.path())
	if err != nil {
		return err
	}
	f.Title, f.Verb = "Retry "+v.Ref, "Retry"
	if !v.State.Terminal() {
		return f.block("The run has not ended. Only an ended run can be retried.")
	}
	f.Facts = []string{
		"This creates a new run with the present definition of the job, and the payload and the parameters of the old run. " +
			"It starts now.",
		"The old run does not change: " + looks[string(v.State)].words + ".",
	}
	f.Fields = []field{keyField()}
	return nil
}

func performRetry(s *site, r *http.Request, f *form) (string, error) {
	var made api.RunView
	err := s.ops.Do(r, http.MethodPost, f.path()+"/retry", keyFor(r, f, ""), nil, &made)
	return runLink(made.Ref) + "?done=retried", err
}

func preparePauseAll(_ *site, _ *http.Request, f *form) error {
	f.Title, f.Verb, f.Danger, f.Back = "Pause all jobs", "Pause all jobs", true, "/cluster"
	f.Facts = []string{
		"No slot of any job runs until somebody resumes all jobs. Slots that pass meanwhile are skipped. Runs that have begun continue.",
	}
	f.Fields = []field{reasonField}
	return nil
}

func prepareResumeAll(_ *site, _ *http.Request, f *form) error {
	f.Title, f.Verb, f.Back = "Resume all jobs", "Resume all jobs", "/cluster"
	f.Facts = []string{"The schedules of all jobs continue, except of those that are paused themselves."}
	return nil
}

func performAll(target, done string) func(*site, *http.Request, *form) (string, error) {
	return func(s *site, r *http.Request, f *form) (string, error) {
		return f.Back + "?done=" + done, s.giveReason(r, f, target)
	}
}
