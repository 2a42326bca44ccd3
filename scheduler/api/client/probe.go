package client

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// probeTimeout is how long a server may take to say that it is alive. A request to a silent server would take its whole timeout,
// and a change would then have an unknown result.
const probeTimeout = time.Second

// pulse is what a probe of a server finds.
type pulse int

const (
	silent pulse = iota // no answer in time: a process that hangs, or packets that are dropped
	failed              // an error, such as a refused connection
	alive
)

// pulses asks all servers at once whether they are alive. Each function of the result waits for the pulse of one server. The caller
// calls stop, which waits for the end of all probes.
func (c *Client) pulses(ctx context.Context, servers []string) (list []func() pulse, stop func()) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	var all sync.WaitGroup
	for _, server := range servers {
		found, once := silent, make(chan struct{})
		all.Go(func() {
			defer close(once)
			found = c.pulse(ctx, server)
		})
		list = append(list, func() pulse { <-once; return found })
	}
	return list, func() { cancel(); all.Wait() }
}

func (c *Client) pulse(ctx context.Context, server string) pulse {
	to, base := c.at(server)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/livez", nil)
	if err != nil {
		return failed
	}
	res, err := to.Do(req)
	switch {
	case err == nil:
		res.Body.Close()
		return alive
	case ctx.Err() != nil:
		return silent
	}
	return failed
}
