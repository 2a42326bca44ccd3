package client

import (
	"context"
	"iter"
	"net"
	"net/url"
	"slices"
	"strings"
)

// learn keeps the replicas that a server names, as a list of host:port. They have the scheme of that server.
func (c *Client) learn(server, list string) {
	scheme, _, _ := strings.Cut(server, "://")
	if list == "" || c.cfg.Learn == nil || scheme != "http" && scheme != "https" {
		return
	}
	var replicas []string
	for addr := range strings.SplitSeq(list, ",") {
		if _, _, err := net.SplitHostPort(strings.TrimSpace(addr)); err == nil {
			replicas = append(replicas, scheme+"://"+strings.TrimSpace(addr))
		}
	}
	c.mu.Lock()
	news := len(replicas) > 0 && !slices.Equal(replicas, c.learned)
	if news {
		c.learned = replicas
	}
	c.mu.Unlock()
	if news {
		c.cfg.Learn(replicas)
	}
}

// order yields the servers in the order in which they are asked. The server that answered last is the first. Then follow the
// given servers, and at the end the learned ones that are alive. Before the first answer, silent servers are left out as long as
// another one is not silent.
func (c *Client) order(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		good := c.Answering()
		given, learned := c.candidates(good)
		if c.good.Load() != nil || len(given)+len(learned) == 1 {
			if !yield(good) {
				return
			}
			given, learned = c.candidates(good) // it may have named others
			given = given[1:]
		}
		if len(given)+len(learned) == 0 {
			return
		}
		states, stop := c.pulses(ctx, append(given, learned...))
		defer stop()
		others := 0
		for i, server := range given {
			if states[i]() == silent {
				continue
			}
			if others++; !yield(server) {
				return
			}
		}
		for i, server := range learned {
			if states[len(given)+i]() != alive {
				continue
			}
			if others++; !yield(server) {
				return
			}
		}
		if others == 0 && len(given) > 0 {
			yield(given[0])
		}
	}
}

// candidates returns the servers to ask: good, then the given ones after it, and the learned ones apart.
func (c *Client) candidates(good string) (given, learned []string) {
	given = []string{good}
	after := slices.Index(c.servers, good) + 1 // 0 for a learned server
	for i := range c.servers {
		if server := c.servers[(after+i)%len(c.servers)]; !slices.Contains(given, server) {
			given = append(given, server)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return given, slices.DeleteFunc(slices.Clone(c.learned), func(s string) bool { return slices.Contains(given, s) })
}

// tokenFor returns the token for a server. A learned server gets the token of the given ones, but not in plain text over a network.
func (c *Client) tokenFor(ctx context.Context, server string) (string, error) {
	if slices.Contains(c.servers, server) {
		return c.token(ctx, server)
	}
	if c.cfg.TokenFile == "" {
		if own, err := c.token(ctx, server); err != nil || own != "" {
			return own, err
		}
	}
	for _, given := range c.servers {
		token, err := c.token(ctx, given)
		if err != nil {
			return "", err
		}
		if token != "" && private(server) {
			return token, nil
		}
	}
	return "", nil
}

// private reports whether nobody between this machine and the server can read a request.
func private(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
