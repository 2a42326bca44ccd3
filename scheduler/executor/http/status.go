package httpx

import (
	"errors"
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

// judge returns the outcome of a response. It is a success for the statuses that the job expects, by default all 2xx. For
// 408, 425, 429 and 5xx it is a failure that asks for a retry. For other statuses it is a final failure, unless the job's retry
// policy names them. A retry waits for the Retry-After of the response.
func judge(resp *http.Response, expect []int, now time.Time) job.Outcome {
	code := resp.StatusCode
	o := job.Outcome{State: job.Failed, Exit: &code}
	switch {
	case slices.Contains(expect, code), len(expect) == 0 && code/100 == 2:
		o.State = job.Succeeded
		return o
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code/100 == 5:
		o.Retry = true
	}
	o.After = retryAfter(resp.Header, now)
	o.Reason = strings.TrimSpace(fmt.Sprintf("status %d %s", code, http.StatusText(code)))
	switch {
	case code/100 == 3 && resp.Header.Get("Location") != "":
		o.Reason += ": redirects are not followed"
	case code/100 == 2:
		o.Reason += ": not one of those that the job expects"
	}
	return o
}

// retryAfter returns the delay of a Retry-After header, in seconds or as a date; 0 if there is none or it has passed. A
// date is compared with the target's clock, which the Date header shows. now is used if that header is missing, since
// this machine's clock may be wrong.
func retryAfter(from http.Header, now time.Time) time.Duration {
	header := strings.TrimSpace(from.Get("Retry-After"))
	var after time.Duration
	if s, err := strconv.ParseUint(header, 10, 63); err == nil || errors.Is(err, strconv.ErrRange) {
		after = time.Duration(min(s, uint64(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		if sent, err := http.ParseTime(from.Get("Date")); err == nil {
			now = sent
		}
		after = at.Sub(now)
	}
	return min(max(after, 0), maxRetryAfter)
}
