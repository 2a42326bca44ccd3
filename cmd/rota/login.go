package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/cmd/rota/internal/credentials"
	"github.com/rota-scheduler/rota/cmd/rota/internal/signin"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

// renewBefore is how long before its end a command renews a token of an OpenID provider.
const renewBefore = time.Minute

func newLoginCommand(c *cli) *cobra.Command {
	var browser bool
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Sign in with the OpenID provider of the cluster",
		Long: `Sign in with the OpenID provider of the cluster. The command shows an address and a code. Open the address in any browser,
on this machine or on another one, and enter the code.

With --browser, no code is needed: a browser on this machine opens, and the provider sends it back to a port of 127.0.0.1.

The token goes into ~/.config/rota/credentials.yaml, which only you can read. Every command uses it for the servers of --server,
and renews it before it expires.`,
		Example: "  rota login --server https://q1:8470\n  rota login --browser\n  rota jobs --server https://q1:8470",
		Args:    takes(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.login(cmd.Context(), browser) },
	}
	cmd.Flags().BoolVar(&browser, "browser", false, "sign in with a browser on this machine, without a code")
	return cmd
}

func newLogoutCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Forget what rota login stored",
		Long: `Remove the token of the OpenID provider from your credentials, for the servers of --server. The provider learns that the
sign-in has ended. An ID token that somebody has copied stays valid until it expires.`,
		Example: "  rota logout --server https://q1:8470",
		Args:    takes(),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.logout(cmd.Context()) },
	}
}

// loginServers returns the servers that a sign-in is for.
func (c *cli) loginServers() (servers []string, err error) {
	for server := range strings.SplitSeq(cmp.Or(c.server, c.getenv("ROTA_SERVER"), client.DefaultServer), ",") {
		if server = strings.TrimSpace(server); server == "" {
			continue
		}
		if strings.HasPrefix(server, "unix:") {
			return nil, usageError{"a Unix socket needs no sign-in", "name the URL of a server with --server"}
		}
		if err := checkWay(server); err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	if c.credentialsFile() == "" {
		return nil, usageError{"there is no place for credentials", "set HOME or XDG_CONFIG_HOME"}
	}
	return servers, nil
}

func (c *cli) login(ctx context.Context, browser bool) error {
	servers, err := c.loginServers()
	if err != nil {
		return err
	}
	list := strings.Join(servers, ",")
	stranger, err := c.clientOf(list, "", nil, readTimeout)
	if err != nil {
		return err
	}
	defer stranger.Close()
	says, err := stranger.SignIn(ctx)
	if err != nil {
		return err
	}
	if says.OpenID == nil {
		return usageError{"the cluster has no OpenID provider", "use a token, which `rota token create` makes"}
	}
	web, err := c.providerClient()
	if err != nil {
		return err
	}
	defer web.CloseIdleConnections()
	var got credentials.OpenID
	if p := says.OpenID; browser {
		got, err = signin.Browser(ctx, web, p.Issuer, p.ClientID, p.Scopes, func(address string) { c.showProvider(ctx, address) })
	} else {
		got, err = signin.Device(ctx, web, p.Issuer, p.ClientID, p.Scopes, c.askForCode)
	}
	if err != nil {
		return err
	}
	self, err := c.clientOf(list, "", func(context.Context, string) (string, error) { return got.IDToken, nil }, readTimeout)
	if err != nil {
		return err
	}
	defer self.Close()
	seen, err := self.SignIn(ctx)
	if err != nil {
		return err
	}
	if seen.Principal == "" {
		return fmt.Errorf("the token of %s is not accepted by %s: the log of that process says why", got.Issuer, self.Answering())
	}
	err = credentials.Update(c.credentialsFile(), func(f *credentials.File) error {
		for _, server := range servers {
			f.Put(server, credentials.Entry{OpenID: &got})
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "signed in as %s\n", printable(seen.Principal))
	return nil
}

// askForCode tells the person where to sign in.
func (c *cli) askForCode(address, code, complete string) {
	c.printErr("open %s and enter the code %s", printable(address), printable(code))
	if complete != "" {
		c.printErr("or open %s", printable(complete))
	}
}

// showProvider opens a browser at the provider, and prints the address in case that no browser opens.
func (c *cli) showProvider(ctx context.Context, address string) {
	c.printErr("open %s in a browser on this machine", printable(address))
	if err := c.browse(ctx, address); err != nil {
		c.printErr("note: no browser was opened: %v", err)
	}
}

func (c *cli) logout(ctx context.Context) error {
	servers, err := c.loginServers()
	if err != nil {
		return err
	}
	var ended []credentials.OpenID
	err = credentials.Update(c.credentialsFile(), func(f *credentials.File) error {
		for _, server := range servers {
			if e, ok := f.For(server); ok && e.OpenID != nil {
				ended = append(ended, *e.OpenID)
				f.Remove(server)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	web, err := c.providerClient()
	if err != nil {
		return err
	}
	defer web.CloseIdleConnections()
	for _, e := range ended {
		if err := signin.Revoke(ctx, web, e); err != nil {
			c.printErr("note: the credentials are removed, but the OpenID provider was not told: %v", err)
		}
	}
	return nil
}

// providerClient returns an HTTP client for OpenID providers. It trusts the same authorities as the client of the servers, and
// presents no certificate.
func (c *cli) providerClient() (*http.Client, error) {
	trust, err := c.credentials()
	if err != nil {
		return nil, err
	}
	if trust != nil {
		trust = trust.Clone()
		trust.Certificates = nil
	}
	return &http.Client{Timeout: changeTimeout, Transport: newTransport(trust)}, nil
}

// openIDToken returns the token of a sign-in. It renews the token shortly before its end. Another process may have done so already.
func (c *cli) openIDToken(ctx context.Context, e credentials.OpenID, server string) (string, error) {
	if e.Expires.Sub(c.now()) > renewBefore {
		return e.IDToken, nil
	}
	web, err := c.providerClient()
	if err != nil {
		return "", err
	}
	defer web.CloseIdleConnections()
	err = credentials.Update(c.credentialsFile(), func(f *credentials.File) error {
		entry, ok := f.For(server)
		if !ok || entry.OpenID == nil {
			return signin.ErrAgain
		}
		if e = *entry.OpenID; e.Expires.Sub(c.now()) > renewBefore {
			return nil
		}
		next, err := signin.Renew(ctx, web, e)
		if err != nil {
			return err
		}
		f.Renewed(e, next)
		e = next
		return nil
	})
	switch {
	case err == nil || e.Expires.After(c.now()) && !errors.Is(err, context.Canceled):
		return e.IDToken, nil // it is still valid, if it was not renewed
	case errors.Is(err, signin.ErrAgain):
		return "", &codedError{exitFailed, "run `rota login` for " + server, err}
	}
	return "", err
}
