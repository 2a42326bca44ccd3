package web

import (
	"net/http"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
)

func prepareApprove(s *site, r *http.Request, f *form) error {
	const effect = "The run starts as soon as nothing else is in its way."
	return prepareDecision(s, r, f, "Approve", effect, reasonField.Help)
}

func prepareReject(s *site, r *http.Request, f *form) error {
	f.Danger = true
	return prepareDecision(s, r, f, "Reject", "The run does not start, and ends as skipped.", "Say why. Others see it.")
}

func prepareDecision(s *site, r *http.Request, f *form, verb, effect, help string) error {
	v, err := get[api.RunView](s, r, f.path())
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Facts = verb+" "+v.Ref, verb, []string{effect}
	f.Fields = []field{{Name: "reason", Label: "Reason", Kind: "text", Help: help, Example: "checked with accounting"}}
	if !v.AwaitsApproval() {
		f.Blocked, f.Facts, f.Error = true, nil, "The run waits for nobody: it is "+looks[string(v.State)].words+"."
		return nil
	}
	if by := v.Approval.By; len(by) > 0 {
		f.Facts = append(f.Facts, "These may decide: "+strings.Join(by, ", ")+".")
	}
	if !s.ops.Decides(r, v.Approval.By) {
		f.Blocked, f.Facts, f.Error = true, f.Facts[1:], "You may not decide about this run."
	}
	return nil
}
