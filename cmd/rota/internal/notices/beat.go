package notices

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/notify"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
)

// Times of the pings of a cluster.
const (
	beatTimeout = 10 * time.Second
	beatRetry   = 5 * time.Second // the longest pause after a ping that failed
)

// Beat sends the ping of the cluster until ctx, the context of a term, ends. dispatches returns why the leader does not dispatch.
// Then Beat sends nothing, so that the service alarms.
func Beat(ctx context.Context, cfg config.ClusterPing, to send.Sender, dispatches func(context.Context) error, log hclog.Logger) {
	if cfg.URL == "" {
		return
	}
	m := notify.Message{Signal: &notify.Signal{
		Service: job.PingService(cfg.Service), State: job.PingSuccess, Text: "rota dispatches",
	}}
	for ctx.Err() == nil {
		pause := cfg.Every
		if err := dispatches(ctx); err != nil {
			log.Warn("ping of the cluster was left out", "err", err)
			pause = min(pause, beatRetry)
		} else if err := beat(ctx, to, cfg.URL, m); err != nil && ctx.Err() == nil {
			log.Warn("ping of the cluster was not sent and will be repeated", "err", err)
			pause = min(pause, beatRetry)
		}
		loop.Pause(ctx, pause)
	}
}

func beat(ctx context.Context, to send.Sender, url string, m notify.Message) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	return to.Send(ctx, url, m)
}
