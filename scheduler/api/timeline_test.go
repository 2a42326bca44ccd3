package api_test

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func TestRangesOfTheTimeline(t *testing.T) {
	c, err := client.New(client.Config{Servers: serve(t, newFake().backend()).URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ranges, err := c.Ranges(t.Context(), "1h", "ok")
	if err != nil || len(ranges) != 1 || ranges[0].Count != 3 {
		t.Errorf("got %+v, %v; want the range of three slots", ranges, err)
	}
	if ranges, err = c.Ranges(t.Context(), "1h", "other"); err != nil || len(ranges) != 0 {
		t.Errorf("of another job: got %+v, %v; want none", ranges, err)
	}
}
