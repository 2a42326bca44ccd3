package httpx

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// maxRetryAfter is the longest wait that a target can ask for.
const maxRetryAfter = 24 * time.Hour

// judge says what a response means: success for the statuses that the job expects, by default all 2xx; for 408, 425,
// 429 and 5xx a failure that asks for another attempt, after Retry-After if there is one; for others failure at once.
func judge(resp *http.Response, expect []int, now time.Time) job.Outcome {
	code := resp.StatusCode
	o := job.Outcome{State: job.Failed, Exit: &code}
	switch {
	case slices.Contains(expect, code), len(expect) == 0 && code/100 == 2:
		o.State = job.Succeeded
		return o
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code/100 == 5:
		o.Retry = true
		o.After = retryAfter(resp.Header, now)
	}
	o.Reason = strings.TrimSpace(fmt.Sprintf("status %d %s", code, http.StatusText(code)))
	switch {
	case code/100 == 3:
		o.Reason += ": redirects are not followed"
	case code/100 == 2:
		o.Reason += ": not one of those that the job expects"
	}
	return o
}

// retryAfter reads the header of that name, in seconds or as a date; 0 if it says nothing or what has passed. A date is one of the
// target's clock, which Date shows, and now counts only if there is none: ours may be wrong.
func retryAfter(from http.Header, now time.Time) time.Duration {
	header := strings.TrimSpace(from.Get("Retry-After"))
	var after time.Duration
	if s, err := strconv.ParseUint(header, 10, 63); err == nil {
		after = time.Duration(min(s, uint64(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		if sent, err := http.ParseTime(from.Get("Date")); err == nil {
			now = sent
		}
		after = at.Sub(now)
	}
	return min(max(after, 0), maxRetryAfter)
}
