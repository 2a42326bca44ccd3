package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// cli is what all commands share: the streams, the clock, the environment and the global flags.
type cli struct {
	in       io.Reader
	out, err io.Writer
	lines    *lineQueue // err itself, once it is one
	now      func() time.Time
	environ  []string

	server    string
	tokenFile string
	cacert    string
	cert      string
	certKey   string
	format    format
	noColor   bool
}

// How long one server is waited for. A change may take as long as the store takes to find itself a leader.
const (
	dialTimeout   = 2 * time.Second
	readTimeout   = 4 * time.Second
	changeTimeout = 15 * time.Second
)

// reader returns a client for commands that only look: it soon gives a server up.
func (c *cli) reader() (*client.Client, error) { return c.client(readTimeout) }

// changer returns a client for commands that change something.
func (c *cli) changer() (*client.Client, error) { return c.client(changeTimeout) }

func (c *cli) client(timeout time.Duration) (*client.Client, error) {
	tokenFile := cmp.Or(c.tokenFile, c.getenv("ROTA_TOKEN_FILE"))
	if tokenFile != "" {
		if _, err := os.Stat(tokenFile); err != nil {
			return nil, usageError{fmt.Sprintf("token file: %v", err), "name a file that holds the token with --token-file or ROTA_TOKEN_FILE"}
		}
	}
	credentials, err := c.credentials()
	if err != nil {
		return nil, err
	}
	cl, err := client.New(client.Config{
		Servers:   cmp.Or(c.server, c.getenv("ROTA_SERVER")),
		TokenFile: tokenFile,
		By:        whoami(),
		Agent:     "rota/" + buildVersion().Version,
		Timeout:   timeout,
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
			TLSClientConfig:     credentials,
			TLSHandshakeTimeout: dialTimeout,
			ForceAttemptHTTP2:   true,
		},
	})
	if err != nil {
		return nil, usageError{err.Error(), ""}
	}
	return cl, nil
}

func whoami() string {
	u, err := user.Current()
	if err != nil {
		return "" // the records then name the address that asked
	}
	return u.Username
}

// getenv returns the value of an environment variable, "" if it is not set.
func (c *cli) getenv(name string) string {
	for i := len(c.environ) - 1; i >= 0; i-- {
		if k, v, _ := strings.Cut(c.environ[i], "="); k == name {
			return v
		}
	}
	return ""
}

// colored says whether escape sequences may go to stdout.
func (c *cli) colored() bool {
	return !c.noColor && c.getenv("NO_COLOR") == "" && c.getenv("TERM") != "dumb" && isTerminal(c.out)
}

// asks says whether there is somebody who can answer a question.
func (c *cli) asks() bool { return isTerminal(c.in) && isTerminal(c.err) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// note tells people something that is not part of the output.
func (c *cli) note(format string, args ...any) {
	// Whoever closed stderr does not want to know.
	_, _ = fmt.Fprintf(c.err, format+"\n", args...)
}

// queueErr has nobody wait any more for who reads stderr. It is for commands that go on for long; endErr waits for the last lines.
func (c *cli) queueErr() {
	c.lines = newLineQueue(c.err)
	c.err = c.lines
}

func (c *cli) endErr() {
	if c.lines != nil {
		c.lines.end()
	}
}

// sleep waits, and returns early with the cause when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
