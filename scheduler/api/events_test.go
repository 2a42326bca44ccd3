package api_test

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestAnEventHasItsRecord reads the data of an event, which is one line of JSON whatever the record contains.
func TestAnEventHasItsRecord(t *testing.T) {
	f := newFake()
	srv := serve(t, f.backend())
	res, _ := open(t, srv.URL+"/v1/events")
	const text = "a\nb\r\n<é>\u2028\"\\ data: x\n\n"
	f.change(func(f *fake) {
		f.putRun(job.Run{Job: "backup", ID: "r1", Output: text, Payload: json.RawMessage("{\n \"a\": 1.50}")})
	})
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e api.Event
		var run api.RunView
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if err := json.Unmarshal(e.Value, &run); err != nil {
			t.Fatalf("%v: %s", err, e.Value)
		}
		if e.Kind != api.KindRun || e.Name != "backup/r1" || e.Revision == 0 || run.Output != text || string(run.Payload) != `{"a":1.50}` {
			t.Errorf("got %s", data)
		}
		return
	}
	t.Fatal("the stream ended")
}
