package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"go.yaml.in/yaml/v4"
)

// LoadAuth reads an auth.file, which has hashes of tokens and roles of principals. If it has mistakes, LoadAuth returns Errors
// with all of them.
func LoadAuth(file string) (auth.File, error) {
	src, err := readSource(file)
	if err != nil {
		return auth.File{}, Errors{err}
	}
	return parseAuth(src)
}

// ParseAuth reads the text of an auth.file. name is its name in errors.
func ParseAuth(name string, text []byte) (auth.File, error) {
	src, err := newSource(name, text)
	if err != nil {
		return auth.File{}, Errors{err}
	}
	return parseAuth(src)
}

func parseAuth(src *source) (auth.File, error) {
	c := &collector{}
	r, roots := &reader{src: src, c: c}, documents(src, c)
	var f auth.File
	switch {
	case len(roots) == 0 && c.err() == nil:
		r.fail(&yaml.Node{Line: 1, Column: 1}, "write bindings, tokens or both", "auth file is empty")
	case len(roots) > 1:
		r.fail(roots[1], "make them one", "auth file is one YAML document, not %d", len(roots))
	case len(roots) == 1:
		readKeys(r, roots[0], "auth file", "", authKeys, nil, &f)
	}
	if err := c.err(); err != nil {
		return auth.File{}, err
	}
	return f, nil
}

// authKeys are the keys of an auth.file.
var authKeys = tableOf(auth.File{},
	key("tokens", mappingsOf(authTokenKeys, checkToken), func(f *auth.File) *[]auth.Token { return &f.Tokens },
		"[{id: k3j2h8w4q9xz, sha256: …, principal: ci}]",
		"Tokens by the hashes of their secrets, as `rota token create` prints them.",
		zero("No token proves a principal.")),
	key("bindings", mappingsOf(bindingKeys, checkBinding), func(f *auth.File) *[]auth.Binding { return &f.Bindings },
		"[{principal: ci, role: operator}]", "Which principals and groups have which role, and for which jobs.",
		zero("Nobody has a role, except by a token that carries one.")),
	key("certificates", words("mapping of texts", plain, (*reader).labels),
		func(f *auth.File) *map[string]string { return &f.Certificates },
		"{ci.internal: ci}",
		"Principals by the common name of their certificates. A certificate of rota's own authority needs no entry.",
		zero("Only certificates of rota's own authority prove a principal.")),
)

var authTokenKeys = tableOf(auth.Token{},
	key("id", word(maxDescription), func(t *auth.Token) *string { return &t.ID },
		"k3j2h8w4q9xz", "The part of the token that is no secret.", required),
	key("sha256", word(maxDescription), func(t *auth.Token) *string { return &t.Hash },
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"The SHA-256 of the token's secret, in hexadecimal.", required),
	key("principal", word(maxDescription), func(t *auth.Token) *string { return &t.Principal },
		"ci", "The principal that the token proves.", required),
	key("groups", listOf(word(maxDescription), inFlow), func(t *auth.Token) *[]string { return &t.Groups },
		"[sre]", "Groups of the principal.", zero("The principal is in no group.")),
	key("role", choiceOf(auth.Roles()), func(t *auth.Token) *auth.Role { return &t.Role },
		"operator", "A role besides those of bindings.", zero("The token has the roles of bindings alone.")),
	key("jobs", listOf(jobPattern, inFlow), func(t *auth.Token) *[]string { return &t.Jobs },
		`["team-a-*"]`, "Patterns of the job names that role is for.", zero("The role is for the whole cluster.")),
	key("expires", instant, func(t *auth.Token) *time.Time { return &t.Expires },
		"2027-01-01T00:00:00Z", "The instant from which the token is refused.", zero("The token never expires.")),
	key("note", textUpTo(maxDescription), func(t *auth.Token) *string { return &t.Note },
		"deploys from CI", "What the token is for."),
)

var bindingKeys = tableOf(auth.Binding{},
	key("principal", word(maxDescription), func(b *auth.Binding) *string { return &b.Principal },
		"alice", "The principal that has the role."),
	key("group", word(maxDescription), func(b *auth.Binding) *string { return &b.Group },
		"sre", "The group whose members have the role."),
	key("role", choiceOf(auth.Roles()), func(b *auth.Binding) *auth.Role { return &b.Role },
		"operator", "What the role allows stands in the reference of roles.", required),
	key("jobs", listOf(jobPattern, inFlow), func(b *auth.Binding) *[]string { return &b.Jobs },
		`["team-a-*"]`, "Patterns of the job names that the role is for.", zero("The role is for jobs of any name.")),
	key("labels", words("mapping of labels", inFlow, (*reader).jobLabels),
		func(b *auth.Binding) *map[string]string { return &b.Labels },
		"{team: a}", "Labels that a job must have. The role is for jobs with all of them.",
		zero("The role is for jobs with any labels.")),
)

// jobPattern is the kind of a pattern of job names.
var jobPattern = kind[string]{
	name: "pattern", schema: object{"type": "string", "minLength": 1},
	read: func(r *reader, n *yaml.Node, what string) string {
		text := r.required(n, what, maxDescription)
		if _, err := path.Match(text, ""); err != nil {
			r.fail(n, "write a name, or a pattern such as team-a-*", "%s %s is no pattern", what, quote(text))
		}
		return text
	},
}

// mappingsOf is the kind of a list of mappings.
func mappingsOf[V any](t table[V], check func(r *reader, n *yaml.Node, v *V)) kind[[]V] {
	return kind[[]V]{
		name: "list of mappings", schema: object{"type": "array", "items": mappingSchema(t.keys(), nil)}, keys: t.keys(),
		read: func(r *reader, n *yaml.Node, what string) (list []V) {
			r.items(n, what, false, func(i int, n *yaml.Node) {
				var v V
				before, of := r.mistakes(), fmt.Sprintf("%s %d", what, i+1)
				if !readKeys(r, n, of, "", t, nil, &v) {
					return
				}
				for _, k := range t.keys() {
					if k.required && child(n, k.Name) == nil {
						r.failAbsent(n, k.Name, "add it, such as "+k.Name+": "+k.Example, "%s has no %s", of, k.Name)
					}
				}
				if r.mistakes() == before {
					check(r, n, &v)
				}
				list = append(list, v)
			})
			return list
		},
	}
}

func checkToken(r *reader, n *yaml.Node, t *auth.Token) {
	if raw, err := hex.DecodeString(t.Hash); err != nil || len(raw) != sha256.Size {
		r.fail(child(n, "sha256"), "write the 64 hexadecimal digits that rota token create prints",
			"sha256 is no SHA-256 in hexadecimal")
	}
}

func checkBinding(r *reader, n *yaml.Node, b *auth.Binding) {
	if (b.Principal == "") == (b.Group == "") {
		r.fail(n, "write principal or group", "a binding is for one principal or one group")
	}
}
