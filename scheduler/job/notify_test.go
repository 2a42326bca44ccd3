package job_test

import (
	"encoding/json"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// A notifier without further keys is stored as version 0.1.0 stores it. Otherwise replicas of both versions would have different
// hashes of the same job files.
func TestNotifierIsStoredAsByVersion010(t *testing.T) {
	spec := job.Spec{Notify: job.Notify{"ops": {URL: "ntfy://host/topic"}}}.WithDefaults()
	text, err := json.Marshal(spec.Notify)
	const want = `{"ops":{"url":"ntfy://host/topic","when":["failure","recovery","missed","lost"]}}`
	if err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}

// A notifier without when gets every occasion, also those that version 0.1.0 does not know.
func TestNotifierWantsAllByDefault(t *testing.T) {
	all := job.Spec{Notify: job.Notify{"ops": {URL: "ntfy://host/topic"}}}.WithDefaults().Notify["ops"]
	some := job.Notifier{When: []job.Occasion{job.OnFailure, job.OnLate}}
	for _, o := range job.Occasions() {
		if _, ok := all.Wants([]job.Occasion{o}); !ok {
			t.Errorf("without when: %s is not wanted", o)
		}
		if _, ok := some.Wants([]job.Occasion{o}); ok != (o == job.OnFailure || o == job.OnLate) {
			t.Errorf("with when: failure and late: %s is wanted: %v", o, ok)
		}
	}
}
