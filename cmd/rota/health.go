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

// maxHealth is the largest number of bytes of an answer that health prints.
const maxHealth = 4 << 10

// healthView is the data that health prints for one server.
type healthView struct {
	Server  string `json:"server"`
	Healthy bool   `json:"healthy"`
	Text    string `json:"text"` // the answer, or the reason why no answer came
}

// newHealthCommand returns a command that probes a server, for machines without curl, such as the container image.
func newHealthCommand(c *cli) *cobra.Command {
	var ready bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Probe a process: is it alive, is it ready",
		Long: `Ask the process at --server if it is alive (/livez), or with --ready if it can serve requests (/readyz). The exit code
is 0 for yes, and 1 for no or for no answer. If --server names several servers, all of them must say yes.`,
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
	cmd.Flags().BoolVar(&ready, "ready", false, "probe readiness instead of liveness")
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
	// The probe uses no proxy: it must reach the process itself.
	prober := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: credentials}}
	var views []healthView
	var bad []string
	for _, server := range cl.Servers() {
		v := probe(ctx, prober, server, path, timeout)
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

// probe sends one request to one server.
func probe(ctx context.Context, prober *http.Client, server, path string, timeout time.Duration) healthView {
	v := healthView{Server: server}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, nil)
	if err != nil {
		v.Text = err.Error()
		return v
	}
	res, err := prober.Do(req)
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

// withoutURL returns the cause of a failed request, without the URL, which the caller prints.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
