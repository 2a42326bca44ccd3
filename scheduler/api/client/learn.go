package client

import (
	"context"
	"iter"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// dialLearned bounds how long the client looks for learned servers that accept a connection.
const dialLearned = time.Second

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
// given servers, and at the end the learned ones that accept a connection.
func (c *Client) order(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		good := c.Answering()
		asked := []string{good}
		if !yield(good) {
			return
		}
		after := slices.Index(c.servers, good) + 1 // 0 for a learned server
		for i := range c.servers {
			server := c.servers[(after+i)%len(c.servers)]
			if slices.Contains(asked, server) {
				continue
			}
			if asked = append(asked, server); !yield(server) {
				return
			}
		}
		c.mu.Lock()
		others := slices.DeleteFunc(slices.Clone(c.learned), func(s string) bool { return slices.Contains(asked, s) })
		c.mu.Unlock()
		for _, server := range accepting(ctx, others) {
			if !yield(server) {
				return
			}
		}
	}
}

// accepting returns the servers that accept a connection, in the order of the list.
func accepting(ctx context.Context, servers []string) []string {
	ctx, cancel := context.WithTimeout(ctx, dialLearned)
	defer cancel()
	up := make([]bool, len(servers))
	var dials sync.WaitGroup
	for i, server := range servers {
		dials.Go(func() {
			u, err := url.Parse(server)
			if err != nil {
				return
			}
			if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host); err == nil {
				conn.Close()
				up[i] = true
			}
		})
	}
	dials.Wait()
	var list []string
	for i, server := range servers {
		if up[i] {
			list = append(list, server)
		}
	}
	return list
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
