package web

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// A form with a wrong value is a mistake of the person, so the page does not say that something is unavailable.
func TestAWrongValueIsNamed(t *testing.T) {
	p := new(site).failed(&api.Problem{Status: http.StatusUnprocessableEntity, Detail: `query.time: "now" is not a time`})
	want := problemData{Detail: `time: "now" is not a time`, Hint: "Go back, and correct the value."}
	if got, ok := p.Data.(*problemData); !ok || *got != want || p.Title != "Invalid value" || p.Status != http.StatusUnprocessableEntity {
		t.Errorf("got %d, title %q, %+v, want %+v", p.Status, p.Title, p.Data, want)
	}
}

// A shortened address of a form leads to no error of the replica, and to no form about another record.
func TestAFormNeedsItsSubject(t *testing.T) {
	page := New(new(writes), Config{})
	for name, a := range actions {
		for query, what := range map[string]string{"": "job", "?job=a": "run"} {
			if a.on != onRun && (a.on != onJob || what != "job") {
				continue
			}
			w := visit(t, page, "/do/"+name+query)
			if want := "The address of this form names no " + what + "."; w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
				t.Errorf("/do/%s%s: got %d, %s, want 404 with %q", name, query, w.Code, w.Body, want)
			}
		}
	}
}

// A rule that the API states without words becomes a sentence beside the field.
func TestATooLongValueIsNamed(t *testing.T) {
	f := form{Fields: []field{reasonField}}
	f.blame(api.FieldError{Field: "reason", Message: "expected length <= 500"})
	if got := f.Fields[0].Error; got != "Write at most 500 characters." {
		t.Errorf("got %q", got)
	}
}

// The page after a form that was refused must not read itself again, because the browser would send the form again. A job that
// appears later would be changed or run. So the page does not follow the cluster.
func TestARefusedFormIsNotSentAgain(t *testing.T) {
	for status, name := range map[int]string{http.StatusNotFound: "gone", http.StatusServiceUnavailable: "unread"} {
		page := New(&refusals{status: status}, Config{})
		for action, fields := range map[string]url.Values{"pause": nil, "run": {"payload": {"1"}}, "delete": {"revision": {"7"}}} {
			form := url.Values{"job": {name}}
			maps.Copy(form, fields)
			w := send(t, page, "/do/"+action, form)
			if got := w.Body.String(); w.Code != status || !strings.Contains(got, `data-watch=""`) || strings.Contains(got, "by itself") {
				t.Errorf("%s of a job that is %s: got %d, %s, want a page that follows nothing", action, name, w.Code, got)
			}
		}
	}
}

// refusals are operations that refuse every request with a status.
type refusals struct {
	writes
	status int
}

func (o *refusals) Do(*http.Request, string, string, http.Header, any, any) error {
	return &api.Problem{Status: o.status, Detail: "no answer"}
}

// A form whose change the store did not accept has no wrong value, so its answer is not one about a mistake of the client.
func TestAFormSaysThatTheStoreDoesNotAnswer(t *testing.T) {
	page := New(&writes{refused: http.StatusServiceUnavailable}, Config{})
	w := send(t, page, "/do/pause", url.Values{"job": {"a"}, "reason": {"a migration"}})
	if got := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(got, "a migration") {
		t.Errorf("got %d, %s, want 503 with what was typed", w.Code, got)
	}
}

// A person may edit a job for longer than it exists. The text is worth more than the form.
func TestAnEditedTextOutlivesItsJob(t *testing.T) {
	page := New(&refusals{status: http.StatusNotFound}, Config{})
	w := send(t, page, "/do/edit", url.Values{"job": {"a"}, "revision": {"7"}, "definition": {"shell: echo typed"}})
	if got := w.Body.String(); !strings.Contains(got, "shell: echo typed") || !strings.Contains(got, "Copy your text") {
		t.Errorf("got %d, %s, want the text", w.Code, got)
	}
}
