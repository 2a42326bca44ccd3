package cluster

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// status returns the HTTP status of an error; 200 for nil, and 0 if no server answered.
func status(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if answer, ok := errors.AsType[*client.Error](err); ok {
		return answer.Status
	}
	return 0
}

// persons are users of a `rota dev`, each with a token.
type persons struct {
	t    *testing.T
	c    *Cluster
	home string
}

// rota runs a command as a person; as the owner of the `rota dev` if who is empty.
func (p *persons) rota(who string, want int, args ...string) string {
	p.t.Helper()
	if who != "" {
		args = append(args, "--server="+p.c.Replicas()[0].URL, "--token-file="+p.token(who))
	}
	cmd := exec.CommandContext(p.t.Context(), binary, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+p.c.Dir, "HOME="+p.home)
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != want {
		p.t.Errorf("%s: rota %s: got code %d, want %d\n%s", who, strings.Join(args, " "), code, want, out)
	}
	return string(out)
}

func (p *persons) token(who string) string { return filepath.Join(p.home, who) }

// admit makes a token for a person.
func (p *persons) admit(who, role string) {
	p.t.Helper()
	secret, _, _ := strings.Cut(p.rota("", 0, "token", "create", who, "--role", role), "\n")
	if err := os.WriteFile(p.token(who), []byte(secret+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	Await(p.t, 10*time.Second, "the token of "+who+" is known", func() bool {
		_, err := p.client(who).Jobs(p.t.Context())
		return err == nil
	})
}

func (p *persons) client(who string) *client.Client {
	return newClient(p.t, p.c.Replicas()[0].URL, p.token(who))
}

// asked waits until a run of a job waits for a person, and returns its name.
func (p *persons) asked(name string) (run string) {
	p.t.Helper()
	Await(p.t, 20*time.Second, "a run of "+name+" waits for a person", func() bool {
		for _, r := range p.c.Recorder.Runs(name) {
			if r.AwaitsApproval() {
				run = r.Name()
				return true
			}
		}
		return false
	})
	Await(p.t, 20*time.Second, "rota knows it", func() bool {
		v, err := p.c.Client.Run(p.t.Context(), run)
		return err == nil && v.AwaitsApproval()
	})
	return run
}

// TestApproveAndReject lets people decide about runs with the command line: an operator whom the job names, one whom it does not
// name, and a viewer.
func TestApproveAndReject(t *testing.T) {
	slow(t)
	hour := job.Duration(time.Hour)
	at := time.Now().Add(15 * time.Second).UTC().Truncate(time.Second)
	p := &persons{t: t, home: t.TempDir(), c: StartDev(t, Config{Binary: binary, Jobs: map[string]job.Spec{
		"pay":    {Shell: "echo paid", Approve: &job.Approve{By: []string{"ann"}, Within: hour}},
		"slot":   {Shell: "echo slot", At: []time.Time{at}, Approve: &job.Approve{By: []string{"ann"}, Within: hour}},
		"soon":   {Shell: "true", Approve: &job.Approve{Within: job.Duration(2 * time.Second)}},
		"anyone": {Shell: "true", Overlap: job.OverlapAllow, Approve: &job.Approve{}},
		"build":  {Shell: "true"},
		"deploy": {Shell: "echo deployed", After: []job.After{{Job: "build"}}, Approve: &job.Approve{}},
		"beside": {Shell: "true", After: []job.After{{Job: "build"}}},
		"tell":   {Shell: "true", After: []job.After{{Job: "deploy"}}},
	}})}
	p.admit("ann", "operator")
	p.admit("olga", "operator")
	p.admit("viv", "viewer")

	p.rota("", 0, "run", "pay")
	run := p.asked("pay")
	Await(t, 20*time.Second, "rota status says what to do", func() bool {
		out, code := Command(t, binary, "status", "--server="+p.c.Replicas()[0].URL, "--token-file="+p.token("olga"))
		return code == 7 && strings.Contains(out, run+" waits for approval by ann until ") && strings.Contains(out, "rota approve "+run)
	})
	for _, args := range [][]string{{"runs", "pay", "-o", "wide"}, {"run-info", run}, {"runs"}} {
		if out := p.rota("", 0, args...); strings.Contains(out, "9999") || !strings.Contains(out, "waits for approval by ann") {
			t.Errorf("rota %s says:\n%s", strings.Join(args, " "), out)
		}
	}
	for who, want := range map[string]string{"viv": "operate", "olga": "the job names ann"} {
		for _, args := range [][]string{{"approve", run}, {"reject", run, "--reason=no"}} {
			if out := p.rota(who, 1, args...); !strings.Contains(out, want) {
				t.Errorf("%s: rota %s says %q, want %q", who, strings.Join(args, " "), out, want)
			}
		}
		if _, err := p.client(who).Approve(t.Context(), run, ""); status(err) != http.StatusForbidden {
			t.Errorf("%s: got %v, want 403", who, err)
		}
	}
	p.rota("ann", 0, "approve", "pay", "--reason=checked")
	p.ends(run, job.Succeeded)
	if out := p.rota("", 0, "run-info", run); !strings.Contains(out, "approved ") || !strings.Contains(out, "by ann from 127.0.0.1: checked") {
		t.Errorf("run-info says:\n%s", out)
	}

	p.rota("", 0, "run", "pay")
	run = p.asked("pay")
	if out := p.rota("ann", 2, "reject", run); !strings.Contains(out, "--reason") {
		t.Errorf("a rejection without a reason: %s", out)
	}
	p.rota("ann", 0, "reject", run, "--reason=the month is not closed")
	if r := p.ends(run, job.Skipped); r.Reason != "rejected by ann from 127.0.0.1: the month is not closed" {
		t.Errorf("the reason of the rejected run is %q", r.Reason)
	}
	for _, verb := range []string{"approve-run", "reject-run"} {
		if out := p.rota("", 0, "audit", "--by=ann"); !strings.Contains(out, verb) || !strings.Contains(out, run) {
			t.Errorf("the audit trail of ann lacks %s:\n%s", verb, out)
		}
	}

	p.rota("", 0, "run", "soon")
	p.ends(p.asked("soon"), job.Skipped)
	if out := p.rota("", 0, "runs", "soon"); !strings.Contains(out, "not approved within 2s") {
		t.Errorf("the run that nobody approved:\n%s", out)
	}

	run = p.asked("slot")
	if out := p.rota("", 0, "explain", "slot", at.Format(time.RFC3339)); strings.Contains(out, "9999") ||
		!strings.Contains(out, "It waits since ") || !strings.Contains(out, "rota approve "+run) || !strings.Contains(out, "If nobody approves it") {
		t.Errorf("explain says:\n%s", out)
	}
	p.rota("ann", 0, "approve", run)
	p.ends(run, job.Succeeded)
	if out := p.rota("", 0, "explain", "slot", at.Format(time.RFC3339)); !strings.Contains(out, "ann from 127.0.0.1 approved it at ") {
		t.Errorf("explain says:\n%s", out)
	}

	p.rota("", 0, "run", "build", "--workflow")
	run = p.asked("deploy")
	id := strings.TrimPrefix(run, "deploy/")
	p.ends("beside/"+id, job.Succeeded)
	if r := p.c.Recorder.Runs("tell")[id]; r.State != job.Pending {
		t.Errorf("the step behind the run that waits is %s", r.State)
	}
	p.rota("olga", 0, "approve", run)
	p.ends("tell/"+id, job.Succeeded)
	for _, args := range [][]string{{"approve", run}, {"reject", run, "--reason=late"}} {
		if out := p.rota("ann", 4, args...); !strings.Contains(out, "olga from 127.0.0.1 approved run ") && !strings.Contains(out, "has ended") {
			t.Errorf("a second decision: %s", out)
		}
	}

	p.bothDecide()
	p.rota("", 0, "verify", "--all-changes")
}

// ends waits until a run has ended in a state.
func (p *persons) ends(run string, want job.State) (r job.Run) {
	p.t.Helper()
	name, id, _ := strings.Cut(run, "/")
	Await(p.t, 20*time.Second, run+" has ended", func() bool { r = p.c.Recorder.Runs(name)[id]; return r.State.Terminal() })
	if r.State != want {
		p.t.Errorf("run %s is %s (%s), want %s", run, r.State, r.Reason, want)
	}
	return r
}

// bothDecide lets two people decide about the same run at once, many times. One decision counts, and the other person gets 409.
func (p *persons) bothDecide() {
	ctx, people := p.t.Context(), []string{"ann", "olga"}
	clients := map[string]*client.Client{}
	for _, who := range people {
		clients[who] = p.client(who)
	}
	for round := range 20 {
		v, _, err := p.c.Client.Submit(ctx, "anyone", api.RunRequest{})
		if err != nil {
			p.t.Fatal(err)
		}
		answers, approvals := make([]int, len(people)), []bool{true, round%2 == 0}
		var wg sync.WaitGroup
		for i, who := range people {
			wg.Go(func() {
				decide := clients[who].Reject
				if approvals[i] {
					decide = clients[who].Approve
				}
				_, err := decide(ctx, v.Ref, "race")
				answers[i] = status(err)
			})
		}
		wg.Wait()
		winner := 0
		if answers[1] == http.StatusOK {
			winner = 1
		}
		if answers[winner] != http.StatusOK || answers[1-winner] != http.StatusConflict {
			p.t.Errorf("round %d: the answers are %v, want one 200 and one 409", round, answers)
			continue
		}
		want := job.Skipped
		if approvals[winner] {
			want = job.Succeeded
		}
		if a := p.ends(v.Ref, want).Approval; a == nil || !strings.HasPrefix(a.Who, people[winner]+" from ") {
			p.t.Errorf("round %d: %s won, and the record says %+v", round, people[winner], a)
		}
	}
}
