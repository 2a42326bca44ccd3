package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// maxHealth bounds the answer of a probe that is shown.
const maxHealth = 4 << 10

// healthView is what the command health prints of one server.
type healthView struct {
	Server  string `json:"server"`
	Healthy bool   `json:"healthy"`
	Text    string `json:"text" doc:"What the server answered, or why it did not"`
}

// newHealthCommand is the probe of machines that have no curl, such as our container image.
func newHealthCommand(c *cli) *cobra.Command {
	var ready bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask one process whether it is alive or ready, for probes",
		Long: `Ask the process at --server whether it is alive (/livez), or with --ready whether it should be given requests (/readyz).
Exit code 0 if so, 1 if not, also when nobody answers. Of several servers all have to be.`,
		Example: "  rota health --ready",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/livez"
			if ready {
				path = "/readyz"
			}
			return c.health(cmd.Context(), path, timeout)
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "ask for readiness")
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Second, "how long to wait for an answer")
	return cmd
}

func (c *cli) health(ctx context.Context, path string, timeout time.Duration) error {
	cl, err := client.New(client.Config{Servers: cmp.Or(c.server, c.getenv("ROTA_SERVER"))})
	if err != nil {
		return usageError{err.Error(), ""}
	}
	defer cl.Close()
	credentials, err := c.credentials()
	if err != nil {
		return err
	}
	// No proxy: what is asked for is this process, not somebody's idea of it.
	asker := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: credentials}}
	var views []healthView
	var bad []string
	for _, server := range cl.Servers() {
		v := probe(ctx, asker, server, path, timeout)
		views = append(views, v)
		if !v.Healthy {
			bad = append(bad, fmt.Sprintf("%s: %s", v.Server, v.Text))
		}
	}
	if err := c.print(views, func(p *page) {
		for _, v := range views {
			if v.Healthy {
				p.line("%s", printable(v.Text))
			}
		}
	}); err != nil {
		return err
	}
	if len(bad) > 0 {
		return &codedError{exitFailed, "", errors.New(strings.Join(bad, "\n"))}
	}
	return nil
}

// probe asks one server.
func probe(ctx context.Context, asker *http.Client, server, path string, timeout time.Duration) healthView {
	v := healthView{Server: server}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, nil)
	if err != nil {
		v.Text = err.Error()
		return v
	}
	res, err := asker.Do(req)
	if err != nil {
		v.Text = "no answer: " + withoutURL(err).Error()
		return v
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxHealth))
	if err != nil {
		v.Text = err.Error()
		return v
	}
	v.Healthy, v.Text = res.StatusCode == http.StatusOK, strings.TrimSpace(string(text))
	return v
}

// withoutURL is the reason for which a request failed: what was asked is known.
func withoutURL(err error) error {
	var asked *url.Error
	if errors.As(err, &asked) {
		return asked.Err
	}
	return err
}
