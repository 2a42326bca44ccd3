package web

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// writes are operations that record the header and the body of each change, and refuse it if refused is set.
type writes struct {
	ofTeam
	headers []http.Header
	bodies  []any
	refused int // status of the refusals; 0: none
}

func (o *writes) May(*http.Request, string, string) bool { return true }

func (o *writes) Do(_ *http.Request, method, _ string, header http.Header, body, out any) error {
	switch v := out.(type) {
	case *api.RunView:
		*v = api.NewRunView(job.Run{Job: "a", ID: "1", State: job.Failed})
	case *api.JobView:
		v.Job = job.Job{Name: "a", Spec: new(job.Spec)}
	case *api.LimitList:
		v.Limits = []api.LimitView{{Limit: job.Limit{Name: "database", Rev: 7, Spec: job.LimitSpec{Concurrent: 4}}, Revision: 7}}
	}
	if method == http.MethodGet {
		return nil
	}
	o.headers, o.bodies = append(o.headers, header), append(o.bodies, body)
	if o.refused != 0 {
		return &api.Problem{Status: o.refused, Detail: "the record has changed"}
	}
	return nil
}

// hidden finds the hidden fields of a form.
var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// visit opens a view.
func visit(t *testing.T, page http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w
}

// open returns the hidden fields of a form.
func open(t *testing.T, page http.Handler, path string) url.Values {
	t.Helper()
	w := visit(t, page, path)
	values := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(w.Body.String(), -1) {
		values.Set(m[1], m[2])
	}
	if w.Code != http.StatusOK || len(values) == 0 {
		t.Fatalf("%s: got %d, %s", path, w.Code, w.Body)
	}
	return values
}

// send sends a form.
func send(t *testing.T, page http.Handler, path string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	page.ServeHTTP(w, r)
	return w
}

// If a person reloads the page after a lost answer, the browser sends the form again. The run must be repeated once.
func TestAFormThatIsSentTwiceMakesOneRun(t *testing.T) {
	ops := &writes{}
	page := New(ops, Config{})
	var keys []string
	for range 2 {
		form := open(t, page, "/do/retry?job=a&run=1")
		for range 2 {
			send(t, page, "/do/retry", form)
		}
	}
	for _, header := range ops.headers {
		keys = append(keys, header.Get("Idempotency-Key"))
	}
	if len(keys) != 4 || keys[0] == "" || keys[0] != keys[1] || keys[2] != keys[3] || keys[0] == keys[2] {
		t.Errorf("got the keys %q, want one for each form", keys)
	}
}

// TestALimitIsNotOverwritten proves that a form replaces only the limit that it has shown.
func TestALimitIsNotOverwritten(t *testing.T) {
	ops := &writes{}
	page := New(ops, Config{})
	made := open(t, page, "/do/limit")
	made.Set("name", "database")
	made.Set("runs", "3")
	edited := open(t, page, "/do/limit?name=database")
	edited.Set("runs", "3")
	send(t, page, "/do/limit", made)
	send(t, page, "/do/limit", edited)
	want := []http.Header{{"If-None-Match": {"*"}}, {"If-Match": {`"7"`}}}
	if !slices.EqualFunc(ops.headers, want, func(a, b http.Header) bool {
		return a.Get("If-None-Match") == b.Get("If-None-Match") && a.Get("If-Match") == b.Get("If-Match")
	}) {
		t.Errorf("got %v, want %v", ops.headers, want)
	}
	ops.refused = http.StatusPreconditionFailed
	if w := send(t, page, "/do/limit", made); !strings.Contains(w.Body.String(), "There is a limit of this name already.") {
		t.Errorf("got %d, %s", w.Code, w.Body)
	}
	if w := send(t, page, "/do/limit", edited); !strings.Contains(w.Body.String(), "Somebody else has changed the limit") ||
		!strings.Contains(w.Body.String(), "<h1>Edit limit database</h1>") {
		t.Errorf("got %d, %s", w.Code, w.Body)
	}
	edited.Set("runs", "0")
	if w := send(t, page, "/do/limit", edited); !strings.Contains(w.Body.String(), "Write a number from 1 on.") {
		t.Errorf("0 runs at a time: got %d, %s", w.Code, w.Body)
	}
}

// A person goes back in the browser, changes the form and sends it again. The changed form makes another run, however often it is
// sent. With the key of the first run, the API would refuse it, or answer with the first run if only the start differs.
func TestAChangedFormOfAnEarlierRunGetsAnotherKey(t *testing.T) {
	for path, first := range map[string]url.Values{
		"/do/run?job=a": {"in": {"2h"}, "payload": {"1"}}, "/do/command": {"in": {"2h"}, "shell": {"true"}},
	} {
		ops := &writes{}
		page := New(ops, Config{})
		form := open(t, page, path)
		maps.Copy(form, first)
		action, _, _ := strings.Cut(path, "?")
		send(t, page, action, form)
		form.Set("in", "1d")
		for range 2 {
			send(t, page, action, form)
		}
		var keys []string
		for _, header := range ops.headers {
			keys = append(keys, header.Get("Idempotency-Key"))
		}
		if len(keys) != 3 || keys[0] == "" || keys[0] == keys[1] || keys[1] != keys[2] {
			t.Errorf("%s: got the keys %q, want another one after the change", path, keys)
		}
	}
}

// Browsers send the lines of a text with CR and LF. A shell takes CR for a part of each command.
func TestACommandOfSeveralLinesHasNoCarriageReturns(t *testing.T) {
	ops := &writes{}
	page := New(ops, Config{})
	form := open(t, page, "/do/command")
	form.Set("shell", "cd /tmp\r\npwd\r\n")
	send(t, page, "/do/command", form)
	if len(ops.bodies) != 1 {
		t.Fatalf("got %d requests, want 1", len(ops.bodies))
	}
	if body, _ := ops.bodies[0].(map[string]any); body["shell"] != "cd /tmp\npwd\n" {
		t.Errorf("got %q", body)
	}
}
