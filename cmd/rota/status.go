package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newStatusCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show the cluster: leader, replicas, lag and problems",
		Example: "  rota status",
		Args:    takes(),
		RunE: c.reading(show(c, func(ctx context.Context, cl *client.Client, _ []string) (api.ClusterView, error) {
			return cl.Cluster(ctx)
		}, writeCluster)),
	}
}

func writeCluster(p *page, v *api.ClusterView) {
	p.facts(
		"Cluster", fmt.Sprintf("%s, seen by %s, version %s", v.Name, v.Node, v.Version),
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
		key := printable(q.Key)
		p.line("\n%s", p.tint("quarantined: "+key, red))
		p.line("  %s (revision %d)", printable(q.Error), q.Revision)
		p.line("  everything else works; inspect it with `rota etcdctl get %s`, delete it with `rota etcdctl del %s`", key, key)
	}
}

// lagText returns how late the leader dispatches; a dash if the replica does not know it.
func lagText(seconds *float64) string {
	if seconds == nil {
		return orDash("")
	}
	return formatDuration(time.Duration(*seconds * float64(time.Second)))
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
		return "none: the cluster dispatches no runs"
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
	text := fmt.Sprintf("%s by %s, %s", shortHash(f.Hash), f.By, p.moment(f.At))
	switch {
	case f.Agree && len(v.Replicas) < 2:
		return text
	case f.Agree:
		return text + "; all replicas agree"
	case len(v.Replicas) < 2:
		return text + "; a newer version is not in force"
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
		files := shortHash(r.FilesHash)
		if r.FilesNote != "" {
			files += ", see the note"
		}
		rows = append(rows, []any{r.Name, role, r.Addr, r.Version, p.when(r.Started), clocks[r.Name], files})
	}
	return rows
}

// shortHash returns the first digits of a hash. They are enough for a person to compare two hashes.
func shortHash(hash string) string { return hash[:min(12, len(hash))] }

// size formats a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.0f KiB", float64(n)/(1<<10))
}
