package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"

	"github.com/rota-scheduler/rota/cmd/rota/internal/top"
	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newTopCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "top",
		Short: "Show the cluster on the terminal as it changes",
		Long: `Show the cluster as it changes: what is wrong, the leader, and lists of jobs, runs, workers and limits. Enter opens a job,
a run, its attempts and its output. Keys run, pause, cancel and retry after a question that says what they touch. The key ?
shows all keys.

If a replica dies, another one is asked. It needs a terminal; in a script use rota status -o json.`,
		Example: "  rota top --server http://q1:8470",
		Args:    takes(),
		RunE: c.reading(func(ctx context.Context, cl *client.Client, _ []string) error {
			if !isTerminal(c.in) || !isTerminal(c.out) {
				return usageError{"top needs a terminal", "use `rota status`, with -o json in a script"}
			}
			c.watching, c.drawing = true, true
			return top.Run(ctx, top.Config{
				Source: cl, In: c.in, Out: c.out, Environ: c.environ, Plain: !c.colored(),
				Explain: explainTrouble, Now: c.now, NewKey: rand.Text,
			})
		}),
	}
}

// explainTrouble turns an error of a request into a sentence for a person who watches the cluster.
func explainTrouble(err error) string {
	var answer *client.Error
	var none *client.Unreachable
	switch {
	case errors.As(err, &answer) && answer.Status == http.StatusUnauthorized:
		return "The replica rejects the token: it has expired or was revoked. Ask for another: `rota token create` makes it."
	case errors.As(err, &answer) && answer.Status == http.StatusForbidden:
		return "Not allowed: " + answer.Error()
	case errors.As(err, &none):
		return "No replica answers at " + none.Servers[0] + ". The next try follows in a second."
	case errors.Is(err, api.ErrUnavailable):
		return "The cluster is not available: " + err.Error()
	}
	return "Error: " + err.Error()
}
