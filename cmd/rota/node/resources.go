package node

import (
	"strings"

	"github.com/rota-scheduler/rota/scheduler/executor/cgroups"
)

// openGroups opens the cgroups in which the resources of jobs are limited. Jobs that ask for a limit that this process
// cannot set are not given to it, so that it is no failure if there are none.
func (n *Node) openGroups() *cgroups.Tree {
	groups, err := cgroups.Open()
	if err != nil {
		n.log.Info("jobs whose resources are to be limited go to other workers", "limits", strings.Join(groups.Controllers(), ", "),
			"why", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return groups
}
