package doctor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/doctor"
)

// A replica that says only whether it is ready is no finding. The report says what it could not learn, and how to learn it.
func TestRefusedAnswersAreNotExamined(t *testing.T) {
	f := healthy()
	for i := range f.Answers {
		f.Answers[i] = doctor.Answer{Node: f.Answers[i].Node, Refused: errors.New("replica/q1 lacks the right")}
		f.Answers[i].SetReady("[+]store\n[-]space: etcd is full", i != 2, nil)
	}
	r := doctor.Examine(f)
	const want = "The replica is not ready: space: etcd is full."
	if len(r.Findings) != 1 || r.Findings[0].Subject != "q3" || r.Findings[0].Text != want {
		t.Errorf("got findings %+v, want only that q3 is not ready", r.Findings)
	}
	if slices.Contains(r.Examined, doctor.AreaClocks) {
		t.Error("the clocks count as examined")
	}
	skipped := strings.Join(r.Skipped, "\n")
	if !strings.Contains(skipped, "in the view of q1, q2, q3: replica/q1 lacks the right; name a token") {
		t.Errorf("got skipped\n%s", skipped)
	}
}
