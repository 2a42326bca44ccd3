package api_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// The note of a replica about its job files names jobs. A stream must not have what the answers about the cluster leave out.
func TestEventsOfReplicasNameNoJobsOutOfScope(t *testing.T) {
	f, b := guarded(), &bearer{}
	srv := serve(t, f.backend(), func(c *api.Config) { c.Auth = b })
	f.change(func(f *fake) {
		f.rev++
		e, err := api.Changed(api.KindReplica, "q1", f.rev, api.ReplicaView{Replica: job.Replica{Name: "q1", FilesNote: f.note}})
		if err != nil {
			t.Error(err)
		}
		f.publish(e)
	})
	for token, named := range map[string]bool{b.give(t, auth.Viewer, "in-*"): false, b.give(t, auth.Viewer): true} {
		text := streamed(t, srv.URL+"/v1/events?after=1&kind=replica", token)
		if !strings.Contains(text, `"name":"q1"`) || strings.Contains(text, "out-http") != named {
			t.Errorf("named %v: got %q", named, text)
		}
	}
}

// A job out of scope and a job that does not exist get the same answers.
func TestAJobOutOfScopeDoesNotExist(t *testing.T) {
	b := &bearer{}
	header := []string{"Authorization", "Bearer " + b.give(t, auth.Operator, "in-*")}
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = b })
	for _, o := range [][2]string{
		{"GET", "/v1/runs?job=JOB"}, {"GET", "/v1/audit?job=JOB"}, {"GET", "/v1/timeline?job=JOB"}, {"GET", "/v1/jobs/JOB"},
		{"GET", "/v1/jobs/JOB/backfill"}, {"GET", "/v1/runs/JOB/r"}, {"POST", "/v1/jobs/JOB/runs"}, {"POST", "/v1/jobs/JOB/pause"},
		{"DELETE", "/v1/jobs/JOB"}, {"POST", "/v1/runs/JOB/r/retry"},
	} {
		said := map[string]string{}
		for _, name := range []string{"out-shell", "out-nothing"} {
			a := ask(t, srv, o[0], strings.ReplaceAll(o[1], "JOB", name), "", header...)
			detail, _, _ := strings.Cut(strings.ReplaceAll(a.text, name, "JOB"), ", did you mean") // of a job in scope
			said[name] = fmt.Sprint(a.status, strings.TrimSuffix(detail, "\"}\n"))
		}
		if said["out-shell"] != said["out-nothing"] {
			t.Errorf("%s %s: got %s, want %s", o[0], o[1], said["out-shell"], said["out-nothing"])
		}
	}
}

// streamed returns what an event stream sends up to the first event.
func streamed(t *testing.T, address, token string) string {
	t.Helper()
	res, hangUp := open(t, address, "Authorization", "Bearer "+token)
	defer hangUp()
	var text strings.Builder
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "data: ") {
			break
		}
	}
	return text.String()
}

// The leader sends pings, with the references that notifiers may use. So a ping is like a notifier with a URL.
func TestOnlyAnAdministratorChangesAPing(t *testing.T) {
	const secret = "https://hc-ping.com/secret-of-the-check"
	for _, tt := range []struct {
		name, body string
		role       auth.Role
		status     int
	}{
		{"a new ping", `{"every":"1h","http":{"url":"http://x/"},"ping":"http://other/"}`, auth.AuthorCommand, 403},
		{"another service", `{"every":"1h","http":{"url":"http://x/"},"ping":{"url":"` + secret + `","service":"cronitor"}}`, auth.Author, 403},
		{"a ping that is no ping", `{"every":"1h","http":{"url":"http://x/"},"ping":[]}`, auth.Author, 403},
		{"a new ping by an administrator", `{"every":"1h","http":{"url":"http://x/"},"ping":"http://other/"}`, auth.Administrator, 200},
		{"another schedule", `{"every":"2h","http":{"url":"http://x/"},"ping":"` + secret + `"}`, auth.Author, 200},
		{"another schedule, with the ping as a mapping", `{"every":"2h","http":{"url":"http://x/"},"ping":{"url":"` + secret + `"}}`, auth.Author, 200},
		{"no ping any more", `{"every":"1h","http":{"url":"http://x/"}}`, auth.Author, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, b := newFake(), &bearer{}
			f.putJob(job.Job{Name: "pings", Origin: job.Origin{Kind: job.OriginAPI}, Generation: 1, Spec: &job.Spec{
				Every: job.Duration(time.Hour), HTTP: &job.HTTP{URL: "http://x/"}, Ping: &job.Ping{URL: secret},
			}})
			srv := serve(t, f.backend(), func(c *api.Config) { c.Auth = b })
			a := ask(t, srv, "PUT", "/v1/jobs/pings", tt.body, "Content-Type", "application/json", "Authorization", "Bearer "+b.give(t, tt.role))
			if a.status != tt.status {
				t.Errorf("got %d %s, want %d", a.status, a.text, tt.status)
			}
			if a := ask(t, srv, "GET", "/v1/jobs", "", "Authorization", "Bearer "+b.give(t, auth.Operator)); strings.Contains(a.text, "hc-ping") {
				t.Errorf("an operator sees the address of the ping: %s", a.text)
			}
		})
	}
}

// Runs of commands without a job need a role for the whole cluster, also if a pattern fits the name that they have.
func TestCommandsWithoutAJobAreOutOfScope(t *testing.T) {
	b := &bearer{}
	srv := serve(t, guarded().backend(), func(c *api.Config) { c.Auth = b })
	for token, detail := range map[string]string{b.give(t, auth.AuthorCommand, "a*"): "there is no job", b.give(t, auth.AuthorCommand): "there is no run"} {
		for _, o := range [][2]string{{"GET", "/v1/runs/adhoc/r"}, {"POST", "/v1/runs/adhoc/r/retry"}, {"POST", "/v1/runs/adhoc/r/cancel"}} {
			if a := ask(t, srv, o[0], o[1], "", "Authorization", "Bearer "+token); a.status != 404 || !strings.Contains(a.text, detail) {
				t.Errorf("%s %s: got %d %s, want %q", o[0], o[1], a.status, a.text, detail)
			}
		}
	}
}
