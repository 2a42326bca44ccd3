package client

import (
	"context"
	"net"
	"net/http"
	"time"
)

// socketScheme begins the URL of a server at a Unix socket: unix:///var/lib/rota/api.sock.
const socketScheme = "unix://"

// socketHost is the host in requests over a Unix socket.
const socketHost = "http://localhost"

// socketTransport returns a transport to the Unix socket at path.
func socketTransport(path string) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", path)
		},
		IdleConnTimeout: time.Minute,
	}
}

// at returns the client for a server, and the beginning of the URLs of its requests.
func (c *Client) at(server string) (*http.Client, string) {
	if socket := c.sockets[server]; socket != nil {
		return socket, socketHost
	}
	return c.http, server
}

// clientOf returns an HTTP client with a transport.
func (c *Client) clientOf(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport,
		// The API never redirects. If a proxy redirects, the client must not repeat a change at another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
