package web

import (
	"net/http"
	"net/url"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// graph draws a workflow: one column for each distance from the jobs without parents.
type graph struct {
	Nodes         []graphNode
	Edges         []graphEdge
	Width, Height int
}

// graphNode is a step.
type graphNode struct {
	Name, Label, Link, Class, Sign, Words string
	X, Y                                  int
	Here                                  bool
}

// graphEdge leads from a parent to a step.
type graphEdge struct {
	X1, Y1, X2, Y2, Mid int
	Words               string // the condition, if it is not success
	TextX, TextY        int
}

const (
	nodeWidth, nodeHeight = 190, 44
	columnGap, rowGap     = 90, 18
)

// workflow returns the graph of the workflow that a job belongs to; nil if it belongs to none. id selects the runs whose states
// the steps show; empty for none.
func (s *site) workflow(r *http.Request, name, id string) *graph {
	v, err := s.workflowOf(r, name, id)
	if err != nil || len(v.Steps) < 2 {
		return nil
	}
	return graphOf(&v, name)
}

func (s *site) workflowOf(r *http.Request, name, id string) (api.WorkflowView, error) {
	target := jobPath(name) + "/workflow"
	if id != "" {
		target += "?slot=" + url.QueryEscape(id)
	}
	return get[api.WorkflowView](s, r, target)
}

// graphOf places the steps, whose parents come first.
func graphOf(v *api.WorkflowView, here string) *graph {
	g, depth, rows := &graph{}, map[string]int{}, map[int]int{}
	for range v.Steps { // a graph of n steps is at most n deep
		for i := range v.Steps {
			for _, parent := range v.Steps[i].After {
				depth[v.Steps[i].Job] = max(depth[v.Steps[i].Job], depth[parent.Job]+1)
			}
		}
	}
	at := map[string]*graphNode{}
	g.Nodes = make([]graphNode, 0, len(v.Steps))
	for i := range v.Steps {
		step := &v.Steps[i]
		column := depth[step.Job]
		n := graphNode{
			Name:  step.Job,
			Label: cut(step.Job, 20),
			Link:  "/jobs/" + url.PathEscape(step.Job),
			Class: "none",
			Words: "no run yet",
			Here:  step.Job == here,
		}
		if step.State != "" {
			l := looks[string(step.State)]
			n.Class, n.Sign, n.Words = l.class, l.sign, l.words
		}
		if step.Ref != "" {
			n.Link = runLink(step.Ref)
		}
		n.X, n.Y = 2+column*(nodeWidth+columnGap), 2+rows[column]*(nodeHeight+rowGap)
		rows[column]++
		g.Width, g.Height = max(g.Width, n.X+nodeWidth+2), max(g.Height, n.Y+nodeHeight+2)
		g.Nodes = append(g.Nodes, n)
		at[n.Name] = &g.Nodes[len(g.Nodes)-1]
	}
	for i := range v.Steps {
		for _, parent := range v.Steps[i].After {
			from, to := at[parent.Job], at[v.Steps[i].Job]
			if from == nil {
				continue
			}
			e := graphEdge{X1: from.X + nodeWidth, Y1: from.Y + nodeHeight/2, X2: to.X, Y2: to.Y + nodeHeight/2}
			e.Mid = (e.X1 + e.X2) / 2
			if parent.When != "" && parent.When != job.WhenSuccess {
				e.Words, e.TextX, e.TextY = string(parent.When), e.X2-6, e.Y2-6
				if e.Y1 < e.Y2 {
					e.TextY = e.Y2 + 15 // the line comes from above
				}
			}
			g.Edges = append(g.Edges, e)
		}
	}
	return g
}
