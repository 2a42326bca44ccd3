package backend

import (
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestFilesNote(t *testing.T) {
	for name, tc := range map[string]struct {
		replica job.Replica
		inForce job.Files
		want    string
	}{
		"it has none":                {job.Replica{}, job.Files{Hash: "a", By: "q1"}, ""},
		"it has those in force":      {job.Replica{FilesHash: "a"}, job.Files{Hash: "a", By: "q1"}, ""},
		"it says why it differs":     {job.Replica{FilesHash: "b", FilesNote: "cannot be read"}, job.Files{Hash: "a", By: "q1"}, "cannot be read"},
		"it has not seen the others": {job.Replica{FilesHash: "b"}, job.Files{Hash: "a", By: "q1"}, "has other files than those in force, which q1 applied"},
		"a hand removed the record":  {job.Replica{FilesHash: "b"}, job.Files{}, "has files, and none are in force"},
	} {
		if got := filesNote(&tc.replica, tc.inForce); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
