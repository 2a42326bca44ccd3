package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func newTokenCommand(c *cli) *cobra.Command {
	return group(&cobra.Command{
		Use:   "token",
		Short: "Make, list, rotate and revoke tokens for the API",
		Example: `  rota token create ci --role operator --expires 90d
  rota token list`,
	}, newTokenCreateCommand(c), newTokenListCommand(c), newTokenRotateCommand(c), newTokenRevokeCommand(c))
}

func newTokenCreateCommand(c *cli) *cobra.Command {
	var (
		role, expires, note, to string
		jobs                    []string
		offline                 bool
	)
	cmd := &cobra.Command{
		Use:   "create [PRINCIPAL]",
		Short: "Make a token",
		Long: `Make a token and store its hash in the cluster. Every replica and worker knows the token within a second. The first line of
the output is the token. Give it to its owner, who keeps it in a file that nobody else can read. The secret is made here,
and the cluster gets only its hash.

With --offline, the command calls no cluster and stores nothing. The other lines of the output are then the entry for
auth.file, without the secret.`,
		Example: `  rota token create ci --role operator --jobs 'team-a-*' --expires 90d
  rota token create alice --role admin --offline
  rota --token-file ~/.config/rota/token jobs`,
		Args: takes("[PRINCIPAL]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to != "" {
				args = append(args, to)
			}
			if len(args) != 1 {
				return usageError{"create: give one PRINCIPAL", "it is the name that the token proves, such as ci"}
			}
			t := auth.Token{Principal: args[0], Role: auth.Role(role), Jobs: jobs, Note: note}
			if !slices.Contains(auth.Roles(), t.Role) {
				return usagef("--role %q: use one of %s", role, roleNames())
			}
			if len(jobs) == 0 && (cmd.Flags().Changed("jobs") || cmd.Flags().Changed("scope")) {
				return usagef("--jobs is empty: give patterns, or leave the flag out for the whole cluster")
			}
			for _, pattern := range jobs {
				if _, err := path.Match(pattern, ""); err != nil {
					return usagef("--jobs %q is no pattern of job names", pattern)
				}
			}
			if expires != "" {
				life, err := parseSpan(expires)
				if err != nil || life <= 0 {
					return usageError{fmt.Sprintf("--expires %q is not a time span", expires), "write it with a unit, for example 90d"}
				}
				t.Expires = c.now().Add(life).UTC().Truncate(time.Second)
			}
			secret, err := auth.NewSecret(rand.Reader)
			if err != nil {
				return err
			}
			t.ID, t.Hash = secret.ID, secret.Hash()
			if offline {
				return c.printToken(secret, &t)
			}
			return c.changing(func(ctx context.Context, cl *client.Client, _ []string) error {
				v, err := cl.CreateToken(ctx, api.CreateTokenRequest{
					ID: t.ID, Hash: t.Hash, Principal: t.Principal, Role: t.Role, Jobs: t.Jobs, Life: expires, Note: t.Note,
				})
				if err != nil {
					return err
				}
				return c.printStored(secret, v)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "`role` of the token: "+roleNames())
	cmd.Flags().StringSliceVar(&jobs, "jobs", nil, "`patterns` of the jobs that the role is for (default: the whole cluster)")
	cmd.Flags().StringSliceVar(&jobs, "scope", nil, "the same as --jobs")
	cmd.Flags().StringVar(&to, "for", "", "the same as PRINCIPAL")
	cmd.Flags().Var(&givenFlag{&expires, "a time span"}, "expires", "how long the token is valid, such as 90d (default: without end)")
	cmd.Flags().StringVar(&note, "note", "", "what the token is for")
	cmd.Flags().BoolVar(&offline, "offline", false, "print an entry for auth.file, and call no cluster")
	_ = cmd.MarkFlagRequired("role") // the flag exists
	completeFlag(cmd, "role", texts(auth.Roles()))
	return cmd
}

func roleNames() string { return strings.Join(texts(auth.Roles()), ", ") }

// createdToken is the data of a new token. Its entry is the part that belongs into auth.file.
type createdToken struct {
	Token string     `json:"token"`
	Entry auth.Token `json:"entry"`
}

func (c *cli) printToken(secret auth.Secret, t *auth.Token) error {
	return c.print(createdToken{secret.Text(), *t}, func(p *page) {
		p.line("%s", secret.Text())
		p.line("")
		p.line("# the entry for tokens in auth.file:")
		p.line("- id: %s", t.ID)
		p.line("  sha256: %s", t.Hash)
		p.line("  principal: %q", t.Principal)
		p.line("  role: %s", t.Role)
		if len(t.Jobs) > 0 {
			text, _ := json.Marshal(t.Jobs) // JSON is valid YAML; the encoding of a list of texts cannot fail
			p.line("  jobs: %s", text)
		}
		if !t.Expires.IsZero() {
			p.line("  expires: %s", t.Expires.Format(time.RFC3339))
		}
		if t.Note != "" {
			p.line("  note: %q", t.Note)
		}
	})
}
