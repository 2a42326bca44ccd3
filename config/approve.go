package config

import (
	"github.com/rota-scheduler/rota/scheduler/job"
	"go.yaml.in/yaml/v4"
)

// maxApprover is the longest name of a principal or a group, in bytes.
const maxApprover = 256

var approveKeys = tableOf(job.Approve{},
	key("by", listOf(word(maxApprover), inFlow), func(a *job.Approve) *[]string { return &a.By },
		"[sre]", "The principals and groups that may approve and reject. They need the role of an operator too.",
		zero("Every operator of the job may.")),
	key("within", span(job.WithinRange), func(a *job.Approve) *job.Duration { return &a.Within },
		"4h", "A run that nobody has approved for so long is skipped.", zero("A run waits without end.")),
)

// checkApprove reports a rule with too many names.
func checkApprove(r *reader, n *yaml.Node, a *job.Approve, _ bool) {
	if len(a.By) > job.MaxApprovers {
		r.fail(child(n, "by"), "name a group instead", "approve.by has %d names, at most %d are allowed", len(a.By), job.MaxApprovers)
	}
}
