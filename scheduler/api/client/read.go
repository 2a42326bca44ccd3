package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/timeline"
)

// Cluster returns the state of the cluster from the view of the replica that answers.
func (c *Client) Cluster(ctx context.Context) (api.ClusterView, error) {
	return get[api.ClusterView](ctx, c, "/v1/cluster", nil)
}

// Jobs returns all jobs in the order of their names.
func (c *Client) Jobs(ctx context.Context) ([]api.JobView, error) { return c.SelectJobs(ctx, "") }

// SelectJobs returns the jobs that a selector of labels selects, in the order of their names. It reads all pages of the list.
func (c *Client) SelectJobs(ctx context.Context, selector string) (jobs []api.JobView, err error) {
	query := parameters("selector", selector)
	for {
		page, err := get[api.JobList](ctx, c, "/v1/jobs", query)
		if err != nil {
			return nil, err
		}
		if jobs = append(jobs, page.Jobs...); page.Continue == "" {
			return jobs, nil
		}
		query.Set("continue", page.Continue)
	}
}

// Job returns one job.
func (c *Client) Job(ctx context.Context, name string) (api.JobView, error) {
	return get[api.JobView](ctx, c, jobPath(name), nil)
}

// Limits returns all cluster-wide limits in the order of their names.
func (c *Client) Limits(ctx context.Context) ([]api.LimitView, error) {
	l, err := get[api.LimitList](ctx, c, "/v1/limits", nil)
	return l.Limits, err
}

// Workers returns the workers that are present, in the order of their names.
func (c *Client) Workers(ctx context.Context) ([]api.WorkerView, error) {
	l, err := get[api.WorkerList](ctx, c, "/v1/workers", nil)
	return l.Workers, err
}

// Timeline returns what happened since a time span before now (24h, 7d) or an RFC 3339 time, oldest first. jobName selects one job;
// "" means all.
func (c *Client) Timeline(ctx context.Context, since, jobName string) (api.Timeline, error) {
	return get[api.Timeline](ctx, c, "/v1/timeline", parameters("since", since, "job", jobName))
}

// Ranges returns the ranges of slots without runs, otherwise as Timeline.
func (c *Client) Ranges(ctx context.Context, since, jobName string) ([]timeline.Entry, error) {
	line, err := get[api.Timeline](ctx, c, "/v1/timeline", parameters("ranges", "true", "since", since, "job", jobName))
	return line.Entries, err
}

// Incident summarizes the incident at an instant, or the last one before it. The zero time means now.
func (c *Client) Incident(ctx context.Context, at time.Time) (timeline.Incident, error) {
	return get[timeline.Incident](ctx, c, "/v1/incident", parameters("at", instant(at)))
}

// RunFilter selects runs. Its zero value selects all runs.
type RunFilter struct {
	Job      string
	Selector string // of labels of jobs, such as team=a
	States   []job.State
	Since    string // a time span before now (24h, 7d) or an RFC 3339 time
	Limit    int    // most runs in one page; 0: the default of the server
}

// Runs returns one page of runs, the latest first. next is the field Continue of the previous page; empty for the first page.
func (c *Client) Runs(ctx context.Context, f RunFilter, next string) (api.RunList, error) {
	query := parameters("job", f.Job, "selector", f.Selector, "since", f.Since, "continue", next, "limit", number(f.Limit))
	for _, s := range f.States {
		query.Add("state", string(s))
	}
	return get[api.RunList](ctx, c, "/v1/runs", query)
}

// AllRuns yields the runs of all pages. It ends after the first error.
func (c *Client) AllRuns(ctx context.Context, f RunFilter) iter.Seq2[api.RunView, error] {
	return func(yield func(api.RunView, error) bool) {
		next := ""
		for {
			page, err := c.Runs(ctx, f, next)
			if err != nil {
				yield(api.RunView{}, err)
				return
			}
			for _, r := range page.Runs {
				if !yield(r, nil) {
					return
				}
			}
			if next = page.Continue; next == "" {
				return
			}
		}
	}
}

// AuditFilter selects audit records. Its zero value selects all records.
type AuditFilter struct {
	Job   string
	By    string // a principal, or a name that a client claimed
	Since string // a time span before now (24h, 7d) or an RFC 3339 time
	Limit int    // most records in one page; 0: the default of the server
}

// Audit returns one page of audit records, the latest first. next is the field Continue of the previous page; empty for the first
// page.
func (c *Client) Audit(ctx context.Context, f AuditFilter, next string) (api.AuditList, error) {
	query := parameters("job", f.Job, "by", f.By, "since", f.Since, "continue", next, "limit", number(f.Limit))
	return get[api.AuditList](ctx, c, "/v1/audit", query)
}

// Run returns one run by its name, <job>/<slot or id>.
func (c *Client) Run(ctx context.Context, name string) (api.RunView, error) {
	path, err := runPath(name)
	if err != nil {
		return api.RunView{}, err
	}
	return get[api.RunView](ctx, c, path, nil)
}

// Next returns the first n slots of a job after from; the zero time means now.
func (c *Client) Next(ctx context.Context, name string, from time.Time, n int) (api.NextView, error) {
	return get[api.NextView](ctx, c, jobPath(name)+"/next", parameters("n", strconv.Itoa(n), "from", instant(from)))
}

// Workflow returns the workflow of a job. slot may be empty; otherwise each step shows its run of that slot or id.
func (c *Client) Workflow(ctx context.Context, name, slot string) (api.WorkflowView, error) {
	return get[api.WorkflowView](ctx, c, jobPath(name)+"/workflow", parameters("slot", slot))
}

// Explain explains what happened to the slot at the given time.
func (c *Client) Explain(ctx context.Context, name string, at time.Time) (api.ExplainView, error) {
	return get[api.ExplainView](ctx, c, jobPath(name)+"/explain", url.Values{"time": {at.UTC().Format(time.RFC3339Nano)}})
}

// Version returns the version of the server that answers.
func (c *Client) Version(ctx context.Context) (api.VersionView, error) {
	return get[api.VersionView](ctx, c, "/version", nil)
}

// maxChecks is the size of the largest answer to a probe that is read, in bytes.
const maxChecks = 1 << 20

// Ready returns the checks of the server that answers, one per line, and whether all of them pass.
func (c *Client) Ready(ctx context.Context) (checks string, ready bool, err error) {
	var failed error
	for _, server := range c.servers {
		res, err := c.probe(ctx, server)
		if err != nil {
			if failed == nil {
				failed = &noAnswer{Server: server, Err: err}
			}
			continue
		}
		defer res.Body.Close()
		text, err := io.ReadAll(io.LimitReader(res.Body, maxChecks))
		return strings.TrimSpace(string(text)), res.StatusCode == http.StatusOK, err
	}
	return "", false, c.unreachable(failed)
}

func (c *Client) probe(ctx context.Context, server string) (*http.Response, error) {
	to, base := c.at(server)
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz?verbose", nil)
	if err != nil {
		cancel()
		return nil, err
	}
	res, err := to.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &released{ReadCloser: res.Body, release: cancel}
	return res, nil
}

func jobPath(name string) string { return "/v1/jobs/" + url.PathEscape(name) }

func runPath(name string) (string, error) {
	jobName, id, err := job.ParseRunName(name)
	if err != nil {
		return "", err
	}
	return "/v1/runs/" + url.PathEscape(jobName) + "/" + url.PathEscape(id), nil
}
