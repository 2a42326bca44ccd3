package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

func newWhoamiCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "whoami",
		Short: "Show who you are for the cluster, and what you may do",
		Long: `Show the principal that your token, certificate or socket proves, and its roles with their scopes. Each role includes those
before it: ` + roleNames() + `.`,
		Example: "  rota whoami",
		Args:    takes(),
		RunE: c.reading(show(c, func(ctx context.Context, cl *client.Client, _ []string) (api.SignInView, error) {
			v, err := cl.SignIn(ctx)
			if err == nil && v.Principal == "" && !v.Everything {
				_, err = cl.Cluster(ctx) // the refusal says what is wrong with the token
			}
			return v, err
		}, writeIdentity)),
	}
}

func writeIdentity(p *page, v *api.SignInView) {
	proof := v.Method
	if v.Principal == "" {
		proof = "none"
	}
	facts := []string{"Principal", cmp.Or(v.Principal, "anonymous"), "Proof", proof, "Groups", strings.Join(v.Groups, ", ")}
	for i := range v.Roles {
		facts = append(facts, "Role", roleText(&v.Roles[i]))
	}
	p.facts(facts...)
	switch {
	case v.Everything:
		p.line("Everybody may do everything here: auth.mode is not required.")
	case len(v.Roles) == 0:
		p.line("You have no role. An admin gives one in auth.file, or with `rota token create`.")
	}
}

// roleText returns a role with its scope.
func roleText(b *auth.Binding) string {
	text := string(b.Role)
	if b.Group != "" {
		text += " of group " + b.Group
	}
	if len(b.Jobs) == 0 && len(b.Labels) == 0 {
		return text + ", for the whole cluster"
	}
	text += ", for jobs"
	if len(b.Jobs) > 0 {
		text += " " + strings.Join(b.Jobs, ", ")
	}
	if len(b.Labels) > 0 {
		text += " with labels " + labelsText(b.Labels)
	}
	return text
}
