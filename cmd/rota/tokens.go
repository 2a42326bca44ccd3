package main

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func newTokenListCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the tokens in the store",
		Long:    "List the tokens in the store. Tokens of auth.file are in the file alone.",
		Example: "  rota token list",
		Args:    takes(),
		RunE: c.reading(show(c, func(ctx context.Context, cl *client.Client, _ []string) (api.TokenList, error) {
			all, err := cl.Tokens(ctx)
			return api.TokenList{Tokens: all}, err
		}, writeTokens)),
	}
}

func writeTokens(p *page, l *api.TokenList) {
	if len(l.Tokens) == 0 {
		p.line("no tokens")
		return
	}
	rows := [][]any{{"ID", "PRINCIPAL", "ROLE", "JOBS", "CREATED", "BY", tinted{"EXPIRES", plain}, "NOTE"}}
	for _, t := range l.Tokens {
		expires := tinted{"never", plain}
		if !t.Expires.IsZero() {
			expires.text = p.when(t.Expires)
			if !p.now.Before(t.Expires) {
				expires.color = red
			}
		}
		row := []any{t.ID, t.Principal, string(t.Role), strings.Join(t.Jobs, " "), p.when(t.Created), t.By, expires}
		rows = append(rows, append(row, p.shortened(t.Note)))
	}
	p.table(rows)
}

func newTokenRotateCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate ID",
		Short: "Replace a token by a new one; the old one is valid for 24 hours longer",
		Long: `Make a token with the principal, the role and the jobs of another one. If the other one expires, the new one has
the same life from now on. The other one is valid for 24 hours longer, so that its owner can replace it without a gap.
The first line of the output is the new token.`,
		Example: "  rota token rotate k3j2h8w4q9xz",
		Args:    takes("ID"),
		RunE: c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			secret, err := auth.NewSecret(rand.Reader)
			if err != nil {
				return err
			}
			v, err := cl.RotateToken(ctx, args[0], api.RotateTokenRequest{ID: secret.ID, Hash: secret.Hash()})
			if err != nil {
				return err
			}
			return c.printStored(secret, v)
		}),
	}
}

func newTokenRevokeCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID...",
		Short: "Revoke tokens",
		Long: `Revoke tokens of the store. Every replica and worker refuses them within a second. To revoke a token of
auth.file, remove its entry.`,
		Example: "  rota token revoke k3j2h8w4q9xz",
		Args:    takes("ID..."),
		RunE: c.changing(func(ctx context.Context, cl *client.Client, args []string) error {
			var failed []error // a token that is gone must not keep the others valid
			for _, id := range args {
				err := cl.RevokeToken(ctx, id)
				if err == nil && c.forPeople() {
					err = c.print(nil, func(p *page) { p.line("token %s revoked", id) })
				}
				failed = append(failed, err)
			}
			return errors.Join(failed...)
		}),
	}
}

// storedToken is the data of a new token in the store.
type storedToken struct {
	Token string `json:"token"`
	api.TokenView
}

func (c *cli) printStored(secret auth.Secret, v api.TokenView) error {
	return c.print(storedToken{secret.Text(), v}, func(p *page) {
		p.line("%s", secret.Text())
		p.line("")
		p.line("# id %s, principal %s, role %s", v.ID, v.Principal, v.Role)
		if !v.Expires.IsZero() {
			p.line("# expires %s", v.Expires.Format(time.RFC3339))
		}
	})
}
