package web

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

func (s *site) tokens(r *http.Request) (*page, error) {
	list, err := get[api.TokenList](s, r, "/v1/tokens")
	return &page{View: "tokens", Title: "Tokens", Watch: "*", Data: list.Tokens}, err
}

// newTokenID is the id of the token that a form makes. The form has it, so that a form that is sent twice makes one token.
func newTokenID() (string, error) {
	secret, err := auth.NewSecret(rand.Reader)
	return secret.ID, err
}

func prepareToken(_ *site, _ *http.Request, f *form) error {
	id, err := newTokenID()
	if err != nil {
		return err
	}
	roles := make([]string, len(auth.Roles()))
	for i, role := range auth.Roles() {
		roles[i] = string(role)
	}
	f.Title, f.Verb, f.Back = "New token", "Create", "/tokens"
	f.Facts = []string{
		"Every replica and worker knows the token within a second. The token is shown once, after it is created. " +
			"The cluster keeps only a hash.",
	}
	f.Fields = []field{
		{Name: "principal", Label: "Principal", Kind: "text", Help: "The name that the token proves.", Example: "ci"},
		{Name: "role", Label: "Role", Kind: "choice", Options: roles, Value: roles[0], Help: "What the owner may do."},
		{
			Name: "jobs", Label: "Jobs", Kind: "text", Example: "team-a-*",
			Help: "Patterns of names, with spaces between them. Empty: the whole cluster.",
		},
		{Name: "life", Label: "Valid for", Kind: "text", Help: "A span such as 90d. Empty: without end.", Example: "90d"},
		{Name: "note", Label: "Purpose", Kind: "text", Help: "It may be empty.", Example: "deployments"},
		{Name: "id", Kind: "hidden", Value: id},
	}
	return nil
}

func performToken(s *site, r *http.Request, f *form) (string, error) {
	secret, err := auth.NewSecret(rand.Reader)
	if err != nil {
		return "", err
	}
	secret.ID = f.value("id")
	body := api.CreateTokenRequest{
		ID: secret.ID, Hash: secret.Hash(), Principal: strings.TrimSpace(f.value("principal")), Role: auth.Role(f.value("role")),
		Jobs: strings.Fields(f.value("jobs")), Life: strings.TrimSpace(f.value("life")), Note: f.value("note"),
	}
	if body.Principal == "" {
		return "", wrong("principal", "Write a name.")
	}
	var made api.TokenView
	if err := s.ops.Do(r, http.MethodPost, "/v1/tokens", nil, body, &made); err != nil {
		return "", err
	}
	f.reveal("Token "+made.ID, secret, fmt.Sprintf("It proves the principal %s with the role %s.", made.Principal, made.Role))
	return "", nil
}

// reveal shows a new token instead of the fields. It is the only time that the cluster shows it.
func (f *form) reveal(title string, secret auth.Secret, fact string) {
	f.Title, f.Fields, f.Blocked, f.Preview, f.Secret = title, nil, true, true, secret.Text()
	f.Facts = []string{fact, "Copy it now: it is not shown again. Keep it in a file that nobody else can read."}
}

// tokenOf reads the token that a form names.
func tokenOf(s *site, r *http.Request) (api.TokenView, error) {
	list, err := get[api.TokenList](s, r, "/v1/tokens")
	for _, t := range list.Tokens {
		if t.ID == r.FormValue("token") {
			return t, err
		}
	}
	if err == nil {
		err = &api.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("There is no token %s in the store.", r.FormValue("token"))}
	}
	return api.TokenView{}, err
}

func prepareRotateToken(s *site, r *http.Request, f *form) error {
	v, err := tokenOf(s, r)
	if err != nil {
		return err
	}
	id, err := newTokenID()
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Back = "Rotate token "+v.ID, "Rotate", "/tokens"
	f.Facts = []string{
		fmt.Sprintf("This makes a second token of %s with the same rights. The first one is valid for 24 hours longer.", v.Principal),
	}
	f.Fields = []field{{Name: "token", Kind: "hidden", Value: v.ID}, {Name: "id", Kind: "hidden", Value: id}}
	return nil
}

func performRotateToken(s *site, r *http.Request, f *form) (string, error) {
	secret, err := auth.NewSecret(rand.Reader)
	if err != nil {
		return "", err
	}
	secret.ID = f.value("id")
	var made api.TokenView
	target := "/v1/tokens/" + url.PathEscape(f.value("token")) + "/rotate"
	body := api.RotateTokenRequest{ID: secret.ID, Hash: secret.Hash()}
	if err := s.ops.Do(r, http.MethodPost, target, nil, body, &made); err != nil {
		return "", err
	}
	fact := fmt.Sprintf("It proves the principal %s. The old token is valid for 24 hours longer.", made.Principal)
	f.reveal("Token "+made.ID, secret, fact)
	return "", nil
}

func prepareRevokeToken(s *site, r *http.Request, f *form) error {
	v, err := tokenOf(s, r)
	if err != nil {
		return err
	}
	f.Title, f.Verb, f.Danger, f.Back = "Revoke token "+v.ID, "Revoke", true, "/tokens"
	f.Facts = []string{fmt.Sprintf("Every replica and worker refuses this token of %s within a second.", v.Principal)}
	if v.Note != "" {
		f.Facts = append(f.Facts, "Its purpose: "+v.Note)
	}
	f.Fields = []field{{Name: "token", Kind: "hidden", Value: v.ID}}
	return nil
}

func performRevokeToken(s *site, r *http.Request, f *form) (string, error) {
	return "/tokens?done=revoked", s.ops.Do(r, http.MethodDelete, "/v1/tokens/"+url.PathEscape(f.value("token")), nil, nil, nil)
}
