package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

func newTokenCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		Short:   "Make tokens for the API",
		Example: "  rota token create ci --role operator",
		Args:    takes(),
	}
	cmd.AddCommand(newTokenCreateCommand(c))
	return cmd
}

func newTokenCreateCommand(c *cli) *cobra.Command {
	var (
		role    string
		jobs    []string
		expires time.Duration
		note    string
	)
	cmd := &cobra.Command{
		Use:   "create PRINCIPAL",
		Short: "Make a token, and its entry for auth.file",
		Long: `Make a token. The first line is the token. Give it to its owner, who keeps it in a file that nobody else can read. The
other lines are its entry for auth.file, without the secret. The command stores nothing and calls no cluster.`,
		Example: `  rota token create ci --role operator --jobs 'team-a-*' --expires 2160h
  rota --token-file ~/.config/rota/token jobs`,
		Args: takes("PRINCIPAL"),
		RunE: func(_ *cobra.Command, args []string) error {
			t := auth.Token{Principal: args[0], Role: auth.Role(role), Jobs: jobs, Note: note}
			if !slices.Contains(auth.Roles(), t.Role) {
				return usagef("--role %q: use one of %s", role, roleNames())
			}
			for _, pattern := range jobs {
				if _, err := path.Match(pattern, ""); err != nil {
					return usagef("--jobs %q is no pattern of job names", pattern)
				}
			}
			if expires < 0 {
				return usagef("--expires %v is negative", expires)
			}
			if expires > 0 {
				t.Expires = c.now().Add(expires).UTC().Truncate(time.Second)
			}
			secret, err := auth.NewSecret(rand.Reader)
			if err != nil {
				return err
			}
			t.ID, t.Hash = secret.ID, secret.Hash()
			return c.printToken(secret, &t)
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "`role` of the token: "+roleNames())
	cmd.Flags().StringSliceVar(&jobs, "jobs", nil, "`patterns` of the jobs that the role is for (default: the whole cluster)")
	cmd.Flags().DurationVar(&expires, "expires", 0, "how long the token is valid (default: without end)")
	cmd.Flags().StringVar(&note, "note", "", "what the token is for")
	_ = cmd.MarkFlagRequired("role") // the flag exists
	roles := cobra.FixedCompletions(strings.Split(roleNames(), ", "), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("role", roles)
	return cmd
}

func roleNames() string {
	names := make([]string, 0, len(auth.Roles()))
	for _, r := range auth.Roles() {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

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
		p.line("  principal: %s", t.Principal)
		p.line("  role: %s", t.Role)
		if len(t.Jobs) > 0 {
			text, _ := json.Marshal(t.Jobs) // JSON is valid YAML; the encoding of a list of texts cannot fail
			p.line("  jobs: %s", text)
		}
		if !t.Expires.IsZero() {
			p.line("  expires: %s", t.Expires.Format(time.RFC3339))
		}
		if t.Note != "" {
			p.line("  note: %s", fmt.Sprintf("%q", t.Note))
		}
	})
}
