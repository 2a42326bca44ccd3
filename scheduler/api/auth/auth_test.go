package auth_test

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

func TestRolesHaveTheRightsOfTheTable(t *testing.T) {
	rights := []auth.Right{auth.Read, auth.Operate, auth.Define, auth.DefineCommand, auth.Admin}
	for i, role := range auth.Roles() {
		for j, right := range rights {
			if got, want := role.Has(right), j <= i; got != want {
				t.Errorf("%s has %s: got %v, want %v", role, right, got, want)
			}
		}
		if role.Has(auth.Peer) {
			t.Errorf("%s has the right of the cluster's processes", role)
		}
	}
	if auth.Role("root").Has(auth.Read) || auth.Viewer.Has(auth.Right("write")) {
		t.Error("an unknown role or right is accepted")
	}
}

func TestGrantsStayWithinTheirScope(t *testing.T) {
	bindings := []auth.Binding{
		{Principal: "ci", Role: auth.Operator, Jobs: []string{"team-a-*"}},
		{Group: "sre", Role: auth.Administrator},
		{Principal: "bea", Role: auth.Viewer},
		{Principal: "bea", Role: auth.Author, Labels: map[string]string{"team": "billing"}},
	}
	ci := auth.Identity{Principal: "ci", Method: auth.ByToken}
	sre := auth.Identity{Principal: "zoe", Groups: []string{"dev", "sre"}, Method: auth.ByOIDC}
	bea := auth.Identity{Principal: "bea", Method: auth.BySession}
	billing := auth.Object{Job: "x", Labels: map[string]string{"team": "billing"}}
	for _, tt := range []struct {
		who   auth.Identity
		right auth.Right
		on    auth.Object
		want  bool
	}{
		{ci, auth.Operate, auth.Object{Job: "team-a-backup"}, true},
		{ci, auth.Read, auth.Object{Job: "team-a-backup"}, true},
		{ci, auth.Define, auth.Object{Job: "team-a-backup"}, false},
		{ci, auth.Read, auth.Object{Job: "team-b-backup"}, false},
		{ci, auth.Read, auth.Object{}, false},
		{sre, auth.Admin, auth.Object{}, true},
		{sre, auth.DefineCommand, auth.Object{Job: "anything"}, true},
		{sre, auth.Peer, auth.Object{}, false},
		{bea, auth.Read, auth.Object{Job: "x"}, true},
		{bea, auth.Define, auth.Object{Job: "x"}, false},
		{bea, auth.Define, billing, true},
		{bea, auth.DefineCommand, billing, false},
		{auth.Identity{}, auth.Read, auth.Object{Job: "x"}, false},
		{auth.Identity{}, auth.Anyone, auth.Object{}, true},
		{auth.Identity{Principal: "nobody", Method: auth.ByToken}, auth.Read, auth.Object{Job: "x"}, false},
		{auth.Identity{Principal: "replica/q1", Method: auth.ByCertificate}, auth.Peer, auth.Object{}, true},
		{auth.Identity{Principal: "worker/w1", Method: auth.ByCertificate}, auth.Peer, auth.Object{}, true},
		{auth.Identity{Principal: "worker/w1", Method: auth.ByCertificate}, auth.Read, auth.Object{Job: "x"}, false},
		{auth.Identity{Principal: "replica/q1", Method: auth.ByToken}, auth.Peer, auth.Object{}, false}, // a name alone is no proof
	} {
		if got := auth.GrantsOf(tt.who, bindings, nil).May(tt.right, tt.on); got != tt.want {
			t.Errorf("%s, %s on %+v: got %v, want %v", tt.who, tt.right, tt.on, got, tt.want)
		}
	}
	if g := auth.GrantsOf(ci, bindings, nil); g.All(auth.Read) || !g.Any(auth.Operate) || g.Any(auth.Define) {
		t.Errorf("ci: all %v, any operate %v, any define %v", g.All(auth.Read), g.Any(auth.Operate), g.Any(auth.Define))
	}
	token := &auth.Token{Principal: "ci", Role: auth.Viewer, Jobs: []string{"team-b-*"}}
	if g := auth.GrantsOf(ci, nil, token); !g.Sees(auth.Object{Job: "team-b-x"}) || g.Sees(auth.Object{Job: "team-a-x"}) || g.Any(auth.Operate) {
		t.Error("a token gives more or less than its role")
	}
	if (auth.Grants{}).May(auth.Read, auth.Object{Job: "x"}) || !auth.Everything().May(auth.Admin, auth.Object{}) {
		t.Error("the zero grants, or those of everybody while authentication is off")
	}
}

func TestTokensAreProvenByTheirSecretAlone(t *testing.T) {
	secret, err := auth.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := auth.NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	kept := auth.Token{ID: secret.ID, Hash: secret.Hash(), Principal: "ci"}
	sent, err := auth.ParseSecret(secret.Text())
	if err != nil || sent.Text() != secret.Text() || !sent.Proves(&kept) {
		t.Fatalf("%s: got %v, %v", secret.Text(), sent, err)
	}
	if other.Proves(&kept) || other.ID == secret.ID {
		t.Error("another token proves the same")
	}
	if strings.Contains(fmt.Sprintf("%v %s %+v", sent, sent, kept), secret.Text()) || strings.Contains(fmt.Sprint(sent), strings.Split(secret.Text(), "_")[2]) {
		t.Error("the secret is printed")
	}
	broken := []byte(secret.Text())
	broken[20] ^= 1
	for _, text := range []string{"", "rota", "rota_a_b_c", secret.Text() + "x", secret.Text()[1:], string(broken), "Bearer " + secret.Text(), strings.ToUpper(secret.Text())} {
		if _, err := auth.ParseSecret(text); !errors.Is(err, auth.ErrToken) {
			t.Errorf("%q: got %v, want ErrToken", text, err)
		}
	}
	if _, err := auth.NewSecret(bytes.NewReader(make([]byte, 10))); err == nil {
		t.Error("too few random bytes make a token")
	}
	if low, err := auth.NewSecret(bytes.NewReader(make([]byte, 100))); err != nil {
		t.Error(err)
	} else if _, err := auth.ParseSecret(low.Text()); err != nil {
		t.Errorf("%s, of small bytes: %v", low.Text(), err)
	}
}

// The form of a token must never change: its owner keeps it for years.
func TestTokensOfEarlierVersionsAreRead(t *testing.T) {
	const text = "rota_bp8mg493ypd8_66RbP881We4PKFdgolhxHR85v4WC1DQv8ct98mU1JXi_1IZPZ6" //nolint:gosec // proves nothing anywhere
	s, err := auth.ParseSecret(text)
	if err != nil || s.Text() != text {
		t.Errorf("got %v, %v", s, err)
	}
}

func TestATokenExpires(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		expires time.Time
		want    bool
	}{{time.Time{}, false}, {now.Add(time.Second), false}, {now, true}, {now.Add(-time.Hour), true}} {
		if got := (&auth.Token{Expires: tt.expires}).Expired(now); got != tt.want {
			t.Errorf("expires at %v: got %v", tt.expires, got)
		}
	}
}

// A client whose first rotation was not answered rotates the token again. The second new token has the life of the first one.
func TestATokenIsRotatedTwice(t *testing.T) {
	born := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	later := born.Add(time.Hour)
	for _, life := range []time.Duration{0, 90 * 24 * time.Hour, 2 * time.Hour} {
		token := auth.Token{ID: "a", Created: born}
		if life != 0 {
			token.Expires = born.Add(life)
		}
		for _, id := range []string{"b", "c"} {
			var next auth.Token
			token, next = token.Rotate(auth.Token{ID: id, Created: later}, 24*time.Hour)
			want := time.Time{}
			if life != 0 {
				want = later.Add(life)
			}
			if !next.Expires.Equal(want) || next.Granted != nil {
				t.Errorf("life %v: token %s expires at %v, want %v", life, id, next.Expires, want)
			}
			if end := born.Add(min(25*time.Hour, cmp.Or(life, 25*time.Hour))); !token.Expires.Equal(end) {
				t.Errorf("life %v: the old token expires at %v, want %v", life, token.Expires, end)
			}
		}
	}
}

func TestCertificatesNameWhomTheyProve(t *testing.T) {
	for text, want := range map[string]auth.Identity{
		"rota://prod/user/alice": {Principal: "alice", Method: auth.ByCertificate},
		"rota://prod/replica/q1": {Principal: "replica/q1", Method: auth.ByCertificate},
		"rota://prod/worker/w1":  {Principal: "worker/w1", Method: auth.ByCertificate},
		"rota://prod/admin/a":    {},
		"rota://prod/user":       {},
		"rota:///user/alice":     {},
		"rota://prod/user/a/b":   {},
		"https://prod/user/a":    {},
		"rota://prod/user/":      {},
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		id, err := auth.ParseCertificateID(u)
		switch {
		case want.Principal == "" && err == nil:
			t.Errorf("%s: got %+v, want an error", text, id)
		case want.Principal != "" && (err != nil || id.Identity().String() != want.String() || id.String() != text):
			t.Errorf("%s: got %+v, %v", text, id, err)
		}
	}
}

func FuzzParseSecret(f *testing.F) {
	secret, err := auth.NewSecret(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "rota___", secret.Text(), "rota_a_b_c_d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := auth.ParseSecret(text); err == nil && s.Text() != text {
			t.Errorf("%q is read as %q", text, s.Text())
		}
	})
}

// A token can have the role that a binding gives its principal. The rights are the same, and the list has the role once.
func TestARoleAppearsOnce(t *testing.T) {
	bindings := []auth.Binding{{Principal: "alice", Role: auth.Administrator}, {Principal: "alice", Role: auth.Viewer, Jobs: []string{"a"}}}
	who := auth.Identity{Principal: "alice", Method: auth.ByToken}
	g := auth.GrantsOf(who, bindings, &auth.Token{Principal: "alice", Role: auth.Administrator})
	if got := g.Roles(); len(got) != 2 || got[0].Role != auth.Administrator || got[1].Role != auth.Viewer {
		t.Errorf("got %+v, want both roles once", got)
	}
}
