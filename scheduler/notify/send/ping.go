package send

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/rota-scheduler/rota/scheduler/executor/dial"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
)

// ping sends a signal to a URL, in the form of its service. A state that the service does not know is not sent.
func ping(ctx context.Context, full string, s notify.Signal, reach *dial.Guard) error {
	u, err := url.Parse(full)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("url of a ping does not begin with http:// or https://")
	}
	method, body := http.MethodGet, ""
	query := u.Query()
	switch s.Service {
	case job.Cronitor:
		query.Set("state", map[job.PingState]string{
			job.PingStart: "run", job.PingSuccess: "complete", job.PingFailure: "fail",
		}[s.State])
		query.Set("message", s.Text)
		if s.Run != "" {
			query.Set("series", s.Run)
		} else {
			query.Del("state") // a heartbeat has none
		}
	case job.DeadMansSnitch:
		if s.State == job.PingStart {
			return nil
		}
		query.Set("m", s.Text)
		if s.State == job.PingFailure {
			query.Set("s", "1")
		}
	case job.UptimeKuma:
		if s.State == job.PingStart {
			return nil
		}
		query.Set("status", map[job.PingState]string{job.PingSuccess: "up", job.PingFailure: "down"}[s.State])
		query.Set("msg", s.Text)
	default:
		method, body = http.MethodPost, s.Text
		u = u.JoinPath(map[job.PingState][]string{job.PingStart: {"start"}, job.PingFailure: {"fail"}}[s.State]...)
		if s.Run != "" {
			query.Set("rid", runUUID(s.Run))
		}
	}
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("User-Agent", "rota")
	return do(req, reach)
}

// runUUID returns the UUID by which a service recognizes the pings of one run. Every replica derives the same one.
func runUUID(run string) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte("rota:"+run)).String() }
