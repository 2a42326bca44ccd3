package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/doctor"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/verify"
)

// examined are operations that answer with fixed reports.
type examined struct {
	ofTeam
	cluster api.ClusterView
	answers map[string]any // by path; an error is the refusal
}

func (*examined) May(*http.Request, string, string) bool { return true }

func (o *examined) Cluster(*http.Request) (api.ClusterView, error) { return o.cluster, nil }

func (o *examined) Do(_ *http.Request, _, target string, _ http.Header, _, out any) error {
	if err, refused := o.answers[target].(error); refused {
		return err
	}
	text, err := json.Marshal(o.answers[target])
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

func (o *examined) page(t *testing.T, method, path string, values url.Values) (status int, text string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(values.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	New(o, Config{}).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestReportsOfExaminations(t *testing.T) {
	broken := api.VerifyView{From: 3, Revision: 9, Report: verify.Report{
		Jobs: 2, Violations: []verify.Violation{{Invariant: 5, Subject: "tick", Revision: 7, Text: "the cursor went <back>"}},
		Notes: []string{"a key is unreadable"},
	}}
	for name, tc := range map[string]struct {
		path   string
		answer any
		status int
		want   []string
	}{
		"sound":    {"verify", api.VerifyView{}, 200, []string{"No invariant is broken.", "✓", "Verify again"}},
		"broken":   {"verify", broken, 200, []string{"1 violation was found.", "invariant 5, tick", "revision 7: the cursor went &lt;back&gt;", "a key is unreadable", "Checked: 2 jobs"}},
		"too much": {"verify", &api.Problem{Status: 409, Detail: "use rota verify"}, 422, []string{`role="alert">use rota verify<`, "Verify"}},
		"healthy":  {"doctor", api.DoctorView{Node: "q1", Report: doctor.Report{Examined: []string{"etcd"}}}, 200, []string{"Nothing was found", "Replica q1 examined: etcd."}},
		"findings": {"doctor", api.DoctorView{Report: doctor.Report{
			Findings: []doctor.Finding{{Area: "clocks", Subject: "q2", Text: "Its clock is ahead.", Do: "synchronize the clocks"}},
			Skipped:  []string{"machine of q3"},
		}}, 200, []string{"1 finding needs attention.", "clocks, q2", "Do: synchronize the clocks", "Not examined", "machine of q3"}},
		"busy": {"doctor", &api.Problem{Status: 429, Detail: "this replica examines the cluster for another client"}, 422, []string{"for another client"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &examined{answers: map[string]any{"/v1/" + tc.path: tc.answer}}
			status, text := o.page(t, http.MethodPost, "/do/"+tc.path, nil)
			if status != tc.status {
				t.Errorf("got %d, want %d", status, tc.status)
			}
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %q: %s", want, text)
				}
			}
		})
	}
}

// An examination is work for the replica of the page. If that one leads, the confirmation says so.
func TestTheConfirmationOfAnExaminationNamesTheLeader(t *testing.T) {
	o := &examined{cluster: api.ClusterView{Node: "q1", Leader: &api.LeaderView{Node: "q1"}, Store: api.StoreView{DBSize: 5 << 20}}}
	for _, replicas := range []int{1, 3} {
		o.cluster.Replicas = make([]api.ReplicaView, replicas)
		for i := range o.cluster.Replicas {
			o.cluster.Replicas[i].Replica = job.Replica{Name: "q"}
		}
		_, text := o.page(t, http.MethodGet, "/do/verify", nil)
		if !strings.Contains(text, "Replica q1 reads all records of the store, 5.0\u00a0MiB,") || strings.Contains(text, "This replica leads.") != (replicas > 1) {
			t.Errorf("%d replicas: the confirmation says %s", replicas, text)
		}
	}
}

func TestAnImportThatIsTooLargeForAForm(t *testing.T) {
	large := api.ImportView{File: strings.Repeat("x", api.MaxBody), Jobs: 9000}
	o := &examined{answers: map[string]any{"/v1/import": large}}
	status, text := o.page(t, http.MethodPost, "/do/import", url.Values{"text": {"0 1 * * * a"}, "kind": {importKinds[0][0]}})
	if status != 422 || !strings.Contains(text, "The job file has 9000 jobs, too many for one form") || !strings.Contains(text, "0 1 * * * a") {
		t.Errorf("got %d: %.3000s", status, text)
	}
}
