package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/rota-scheduler/rota/scheduler/kubeapi"
)

// jobsPage is the largest number of Jobs in one answer.
const jobsPage = 200

// eachJob calls f with each Job that query selects, until f returns an error. It reads them page by page. If a page is too large,
// it asks for half as many Jobs.
func (a *attempt) eachJob(ctx context.Context, query url.Values, f func(*batchJob) error) error {
	for limit := jobsPage; ; {
		query.Set("limit", strconv.Itoa(limit))
		var page jobList
		err := a.call(ctx, http.MethodGet, a.jobs()+"?"+query.Encode(), nil, &page)
		if errors.Is(err, kubeapi.ErrTooLarge) && limit > 1 {
			limit /= 2
			continue
		}
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := f(&page.Items[i]); err != nil {
				return err
			}
		}
		if page.Metadata.Continue == "" {
			return nil
		}
		query.Set("continue", page.Metadata.Continue)
	}
}
