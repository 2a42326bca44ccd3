package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api"
)

func TestAnAnswerSaysHowOldItIs(t *testing.T) {
	for age, want := range map[time.Duration]string{time.Second: "", 14500 * time.Millisecond: "14"} {
		s := api.New(api.DefaultConfig(), api.Backend{Replica: newFake(), Age: func() time.Duration { return age }}, hclog.NewNullLogger())
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/v1/jobs", nil))
		if got := w.Header().Get(api.AgeHeader); got != want || w.Code != http.StatusOK {
			t.Errorf("%v: got %q with status %d, want %q", age, got, w.Code, want)
		}
	}
}
