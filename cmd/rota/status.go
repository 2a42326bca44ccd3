package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/spf13/cobra"
)

func newStatusCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "The cluster: leader, replicas, lag, and what is wrong",
		Example: "  rota status",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, err := c.reader()
			if err != nil {
				return err
			}
			defer cl.Close()
			v, err := cl.Cluster(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(v, func(p *page) { writeCluster(p, &v) })
		},
	}
}

func writeCluster(p *page, v *api.ClusterView) {
	p.facts(
		"Cluster", fmt.Sprintf("%s, as %s sees it, version %s", v.Name, v.Node, v.Version),
		"Ready", readyText(v),
		"Leader", leaderText(p, v.Leader),
		"Jobs", fmt.Sprint(v.Jobs),
		"Paused", pauseText(p, v.Paused),
		"Workers", fmt.Sprint(v.Workers),
		"Lag", lagText(v.LagSeconds),
		"Store", storeText(&v.Store),
		"Job files", filesText(p, v),
	)
	if len(v.Replicas) > 0 {
		p.line("")
		p.table(replicaRows(p, v))
	}
	for _, n := range v.Files.Notes {
		p.line("note: %s", printable(n))
	}
	for _, q := range v.Quarantined {
		p.line("\n%s", p.tint("set aside: "+printable(q.Key), red))
		p.line("  %s (revision %d)", printable(q.Error), q.Revision)
		p.line("  all else goes on; look with `rota etcdctl get %s`, remove with `rota etcdctl del %s`", printable(q.Key), printable(q.Key))
	}
}

// lagText is how far the leader is behind; a dash if nobody knows.
func lagText(seconds *float64) string {
	if seconds == nil {
		return orDash("")
	}
	return took(time.Duration(*seconds * float64(time.Second)))
}

func readyText(v *api.ClusterView) string {
	switch {
	case v.Ready:
		return "yes"
	case len(v.NotReady) == 0:
		return "no"
	}
	return "no: " + strings.Join(v.NotReady, "; ")
}

func leaderText(p *page, l *api.LeaderView) string {
	if l == nil {
		return "none: nothing is dispatched"
	}
	text := l.Node
	if l.Addr != "" {
		text += " at " + l.Addr
	}
	return fmt.Sprintf("%s, term %d, since %s", text, l.Term, p.moment(l.Since))
}

func storeText(s *api.StoreView) string {
	text := fmt.Sprintf("revision %d", s.Revision)
	if s.DBSize > 0 {
		text += ", " + size(s.DBSize)
		if s.Quota > 0 {
			text += fmt.Sprintf(" of %s (%d%%)", size(s.Quota), 100*s.DBSize/s.Quota)
		}
	}
	if s.Full {
		text += ", OUT OF SPACE"
	}
	members := slices.Clone(s.Members)
	for i, m := range members {
		if slices.Contains(s.Unavailable, m) {
			members[i] += " (unavailable)"
		}
	}
	if len(members) > 0 {
		text += ", " + strings.Join(members, " ")
	}
	return text
}

func filesText(p *page, v *api.ClusterView) string {
	f := &v.Files
	if f.Hash == "" {
		return "none in force"
	}
	const shown = 12
	text := fmt.Sprintf("%s by %s, %s", f.Hash[:min(shown, len(f.Hash))], f.By, p.moment(f.At))
	switch {
	case f.Agree && len(v.Replicas) < 2:
		return text
	case f.Agree:
		return text + "; all replicas agree"
	case len(v.Replicas) < 2:
		return text + "; an edit is not in force"
	}
	return text + "; the replicas do not agree"
}

func replicaRows(p *page, v *api.ClusterView) [][]any {
	clocks := map[string]string{}
	for _, c := range v.Clocks {
		clocks[c.Node] = fmt.Sprintf("%+.0fms ±%.0fms", 1000*c.OffsetSeconds, 1000*c.UncertaintySeconds)
	}
	rows := [][]any{{"REPLICA", tinted{"ROLE", plain}, "ADDRESS", "VERSION", "STARTED", "CLOCK", "FILES"}}
	for i := range v.Replicas {
		r := &v.Replicas[i]
		role := tinted{"follower", plain}
		if r.Leader {
			role = tinted{"leader", green}
		}
		const shown = 12
		files := r.FilesHash[:min(shown, len(r.FilesHash))]
		if r.FilesNote != "" {
			files += ", see the note"
		}
		rows = append(rows, []any{r.Name, role, r.Addr, r.Version, p.when(r.Started), clocks[r.Name], files})
	}
	return rows
}

// size is a number of bytes for reading.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}
