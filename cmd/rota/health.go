package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// maxHealth is the largest number of bytes of an answer that health prints.
const maxHealth = 4 << 10

// healthPoll is the pause between two rounds of probes with --wait.
const healthPoll = 200 * time.Millisecond

// healthView is the data that health prints for one server.
type healthView struct {
	Server  string `json:"server"`
	Healthy bool   `json:"healthy"`
	Text    string `json:"text"` // the answer, or the reason why no answer came
}

// newHealthCommand returns a command that probes a server, for machines without curl, such as the container image.
func newHealthCommand(c *cli) *cobra.Command {
	var ready bool
	var timeout, wait time.Duration
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Probe a process: is it alive, is it ready",
		Long: `Ask the process at --server if it is alive (/livez), or with --ready if it can serve requests (/readyz). The exit code
is 0 for yes, and 1 for no or for no answer. If --server names several servers, all of them must say yes.

Without a server, a token and a certificate, the command asks the process at ` + serviceSocket + `, if it can open that.`,
		Example: `  rota health --ready
  rota health --ready --wait 2m`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := "/livez"
			if ready {
				path = "/readyz"
			}
			return c.health(cmd.Context(), path, timeout, wait)
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false, "probe readiness instead of liveness")
	addSpan(cmd.Flags(), &timeout, "timeout", 2*time.Second, "how long to wait for an answer")
	addSpan(cmd.Flags(), &wait, "wait", 0, "repeat until all say yes, for at most this long (default: ask once)")
	return cmd
}

// health probes all servers until they are healthy, for at most wait.
func (c *cli) health(ctx context.Context, path string, timeout, wait time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		views, err := c.probeAll(ctx, path, timeout)
		if err != nil {
			return err
		}
		healthy := !slices.ContainsFunc(views, func(v healthView) bool { return !v.Healthy })
		if healthy || waiting.Err() != nil {
			return c.printHealth(views)
		}
		select {
		case <-waiting.Done():
		case <-time.After(healthPoll):
		}
	}
}

// probeAll probes each server once.
func (c *cli) probeAll(ctx context.Context, path string, timeout time.Duration) (views []healthView, err error) {
	cl, err := c.client(timeout) // a new one each time: the socket may appear later
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	credentials, err := c.credentials()
	if err != nil {
		return nil, err
	}
	for _, server := range cl.Servers() {
		views = append(views, probe(ctx, credentials, server, path, timeout))
	}
	return views, nil
}

// printHealth prints the answers. It returns an error if a server is not healthy.
func (c *cli) printHealth(views []healthView) error {
	if err := c.print(views, func(p *page) {
		for _, v := range views {
			if v.Healthy {
				p.line("%s", printable(v.Text))
			}
		}
	}); err != nil {
		return err
	}
	var bad []string
	for _, v := range views {
		if !v.Healthy {
			bad = append(bad, fmt.Sprintf("%s: %s", v.Server, v.Text))
		}
	}
	if len(bad) > 0 {
		return &codedError{exitFailed, "", errors.New(strings.Join(bad, "\n"))}
	}
	return nil
}

// probe sends one request to one server. It uses no proxy: it must reach the process itself.
func probe(ctx context.Context, credentials *tls.Config, server, path string, timeout time.Duration) healthView {
	v := healthView{Server: server}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: credentials}
	prober := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // it leads to another program, such as the login page of a proxy
	}}
	base := server
	if socket, ok := strings.CutPrefix(server, "unix://"); ok {
		base = "http://localhost"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
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
	if v.Text == "" {
		v.Text = "answered " + res.Status
	}
	if where := res.Header.Get("Location"); where != "" && !v.Healthy {
		v.Text = fmt.Sprintf("answered %s, which leads to %s: is it the right address?", res.Status, where)
	}
	return v
}

// withoutURL returns the cause of a failed request, without the URL, which the caller prints.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
