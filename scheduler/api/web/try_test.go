package web

import (
	"errors"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// One rule says which time zones there are. The page shows its words.
func TestATrialHasTheRuleOfJobsForZones(t *testing.T) {
	refused := errors.New(`timezone "Mars/Olympus" is not a known time zone`)
	s := &site{cfg: Config{Next: func(Trial, int) (api.NextView, error) { return api.NextView{}, refused }}}
	d := &scheduleData{Trial: Trial{Schedule: "90s", Timezone: "Mars/Olympus"}}
	if err := d.answer(s); !errors.Is(err, refused) {
		t.Errorf("got %v, want %v", err, refused)
	}
}
