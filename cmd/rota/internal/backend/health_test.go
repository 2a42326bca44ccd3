package backend

import (
	"testing"
	"time"
)

func TestALateDispatchIsNotReady(t *testing.T) {
	for _, test := range []struct {
		late    time.Duration
		pending int
		want    string
	}{
		{maxBehind, 3, "<nil>"},
		{6 * time.Second, 3, "dispatching is 6s late, 3 decisions are not answered"},
		{6 * time.Second, 0, "dispatching is 6s late"}, // as while etcd is out of space
	} {
		got := "<nil>"
		if err := behind(test.late, test.pending); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%v late with %d pending: %s, want %s", test.late, test.pending, got, test.want)
		}
	}
}
