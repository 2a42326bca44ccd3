package web

import (
	"net/http"
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
