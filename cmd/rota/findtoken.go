package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/credentials"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// findToken returns the path of the file with the token for all servers, or a function that returns the token for each server. It
// looks in this order: --token-file, ROTA_TOKEN_FILE, the credentials that systemd passed to this service, the user's credentials,
// and those of a `rota dev` that this user runs. Somebody who names a client certificate uses that, unless they also name a token.
func (c *cli) findToken(servers string) (file string, token serverToken, err error) {
	if file = cmp.Or(c.tokenFile, c.getenv("ROTA_TOKEN_FILE")); file == "-" {
		return "", c.stdinToken, nil
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return "", pipedToken(file), nil
	}
	if file != "" {
		return file, nil, checkToken(file, servers, 0o077)
	}
	if cmp.Or(c.cert, c.getenv("ROTA_CERT")) != "" {
		return "", nil, nil
	}
	if dir := c.getenv("CREDENTIALS_DIRECTORY"); dir != "" {
		file = filepath.Join(dir, "rota-token")
		if _, err := os.Stat(file); err == nil {
			return file, nil, checkToken(file, servers, 0o007) // systemd gives the service access by an ACL, which looks like a group
		}
	}
	var known []credentials.File
	for _, path := range []string{c.credentialsFile(), c.devEntries()} {
		if path == "" {
			continue
		}
		f, err := credentials.Load(path)
		if err != nil {
			return "", nil, usageError{err.Error(), "repair the file or remove it; a token can also be named with --token-file"}
		}
		known = append(known, f)
	}
	return "", func(ctx context.Context, server string) (string, error) {
		for _, f := range known {
			if e, ok := f.For(server); ok {
				return c.tokenOf(ctx, e, server)
			}
		}
		return "", nil
	}, nil
}

// serviceSocket is the socket of a service that runs as root with the default settings.
const serviceSocket = "/var/lib/rota/api.sock"

// socketServes reports whether a command without a server uses serviceSocket: it can open the socket, and nothing else proves to
// the default server who it is. A nil token means a certificate.
func (c *cli) socketServes(token serverToken) bool {
	if token == nil {
		return false
	}
	if text, err := token(context.Background(), client.DefaultServer); text != "" || err != nil {
		return false
	}
	conn, err := net.DialTimeout("unix", serviceSocket, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// pipedToken returns the token of a pipe, such as <(pass show rota). It reads the pipe once, because every request needs the token.
func pipedToken(file string) serverToken {
	read := sync.OnceValues(func() (string, error) { return readToken(file, 0o077) })
	return func(_ context.Context, server string) (string, error) {
		if err := checkWay(server); err != nil {
			return "", err
		}
		return read()
	}
}

// stdinToken returns the token that stdin holds. It reads stdin once, because every request needs the token.
func (c *cli) stdinToken(_ context.Context, server string) (string, error) {
	if err := checkWay(server); err != nil {
		return "", err
	}
	c.readStdin.Do(func() {
		var text []byte
		text, c.stdinErr = io.ReadAll(io.LimitReader(c.stdin(), maxToken+1))
		if c.stdinText = string(text); len(text) > maxToken {
			c.stdinErr = fmt.Errorf("it has more than %d bytes", maxToken)
		}
	})
	if c.stdinErr != nil {
		return "", fmt.Errorf("read the token from stdin: %w", c.stdinErr)
	}
	token, err := client.ParseToken(c.stdinText)
	if err != nil {
		return "", usageError{"stdin: " + err.Error(), "write the token to stdin, or name a file with --token-file"}
	}
	return token, nil
}

// maxToken is the largest number of bytes of a token on stdin. A token of an OpenID provider names the groups of its owner. A
// server takes headers of 64 KiB.
const maxToken = 64 << 10

// tokenOf returns the token of an entry for a server.
func (c *cli) tokenOf(ctx context.Context, e credentials.Entry, server string) (string, error) {
	if err := checkWay(server); err != nil {
		return "", err
	}
	if e.OpenID != nil {
		return c.openIDToken(ctx, *e.OpenID, server)
	}
	if e.TokenFile == "" {
		return e.Token, nil
	}
	return readToken(e.TokenFile, 0o077)
}

// credentialsFile returns the path of the user's credentials; "" if neither XDG_CONFIG_HOME nor HOME is set.
func (c *cli) credentialsFile() string {
	if dir := c.userDir("XDG_CONFIG_HOME", ".config"); dir != "" {
		return filepath.Join(dir, "credentials.yaml")
	}
	return ""
}

// devEntries returns the path of the credentials of this user's `rota dev`.
func (c *cli) devEntries() string {
	if dir := c.stateDir(); dir != "" {
		return filepath.Join(dir, devEntriesFile)
	}
	return ""
}

// checkToken returns an error if the file holds no token, or if others can read it: in its file, or on the network. forbidden are
// the bits of the file's mode that let others read it.
func checkToken(file, servers string, forbidden os.FileMode) error {
	if _, err := readToken(file, forbidden); err != nil {
		return err
	}
	for server := range strings.SplitSeq(servers, ",") {
		if err := checkWay(strings.TrimSpace(server)); err != nil {
			return err
		}
	}
	return nil
}

// readToken returns the token in a file. forbidden are the bits of the file's mode that let others read it.
func readToken(file string, forbidden os.FileMode) (string, error) {
	const hint = "name a file that holds the token with --token-file or ROTA_TOKEN_FILE"
	info, err := os.Stat(file)
	if err != nil {
		return "", usageError{fmt.Sprintf("token file: %v", err), hint}
	}
	if info.Mode().Perm()&forbidden != 0 {
		return "", usageError{fmt.Sprintf("token file: other users can read %s", file), "chmod 600 " + file}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", usageError{fmt.Sprintf("token file: %v", err), hint}
	}
	token, err := client.ParseToken(string(text))
	if err != nil {
		return "", usageError{fmt.Sprintf("token file: %s: %v", file, err), hint}
	}
	return token, nil
}

// checkWay returns an error if a token would travel in plain text over a network.
func checkWay(server string) error {
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	u, err := url.Parse(server)
	if err != nil || server == "http://" || u.Scheme != "http" || u.Hostname() == "localhost" {
		return nil // the client reports a malformed URL
	}
	if ip := net.ParseIP(u.Hostname()); ip == nil || !ip.IsLoopback() {
		return usageError{"token file: everybody on the way to " + u.Host + " could read the token", "use https://" + u.Host}
	}
	return nil
}
