package web

import (
	"net/http"
	"strings"
)

// acceptLink leads to the form that accepts a restored store.
const acceptLink = "/do/accept-restored"

// isRestored reports whether an answer says that a restored store waits to be accepted.
func isRestored(detail string) bool { return strings.Contains(detail, "rota accept-restored-store") }

func prepareRestored(_ *site, _ *http.Request, f *form) error {
	f.Title, f.Verb, f.Danger = "Accept a restored store", "Accept the store", true
	f.Facts = []string{
		"Processes of the cluster wait if their store was restored from a backup. They then continue with the restored store.",
		"What the cluster did after the backup is lost. Runs that ended after it may run again.",
	}
	return nil
}

func performRestored(s *site, r *http.Request, _ *form) (string, error) {
	return "/cluster?done=accepted", s.ops.Do(r, http.MethodPost, "/v1/accept-restored-store", nil, nil, nil)
}
