package provider

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The clients that the provider knows. Secret belongs to Client.
const (
	Client = "rota"
	Secret = "s3cret-of-rota"
	Public = "rota-cli" // has no secret
)

// Claims are the claims of a token.
type Claims map[string]any

// Provider is a running provider.
type Provider struct {
	Issuer string

	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	keys    []jose.JSONWebKey // the last one signs
	user    Claims            // who signs in next
	life    time.Duration     // of tokens
	down    bool
	asked   map[string]int // requests by path
	codes   map[string]grant
	devices map[string]*device // by device code
	refresh map[string]Claims  // by refresh token
	nonce   string             // replaces the nonce of the next ID token; empty: the right one
	byPost  bool               // clients prove themselves by client_secret_post alone
	blank   bool               // requests for keys get an answer without any
	divert  string             // where requests for tokens are redirected; empty: nowhere
}

// grant is an authorization code that nobody has used.
type grant struct {
	client, redirect, challenge, nonce string
	user                               Claims
}

// device is a sign-in by the device flow.
type device struct {
	client, userCode, challenge string
	user                        Claims // nil until somebody has entered the code
	denied                      bool
}

// Start starts a provider. With tls, it has a certificate that no system trusts; see CA.
func Start(t testing.TB, tls bool) *Provider {
	t.Helper()
	p := &Provider{
		t: t, life: time.Hour, asked: map[string]int{}, codes: map[string]grant{}, devices: map[string]*device{}, refresh: map[string]Claims{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.metadata)
	mux.HandleFunc("GET /keys", p.publicKeys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /device", p.beginDevice)
	mux.HandleFunc("GET /activate", p.activate)
	mux.HandleFunc("POST /revoke", p.revoke)
	p.server = httptest.NewUnstartedServer(p.available(mux))
	if tls {
		p.server.StartTLS()
	} else {
		p.server.Start()
	}
	t.Cleanup(p.server.Close)
	p.Issuer = p.server.URL
	p.Rotate()
	return p
}

// CA returns the path of a PEM file with the authority of the provider's certificate.
func (p *Provider) CA() string {
	path := filepath.Join(p.t.TempDir(), "provider.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	if err := os.WriteFile(path, text, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// Transport returns the transport of a client that trusts the provider.
func (p *Provider) Transport() http.RoundTripper { return p.server.Client().Transport }

// Public returns the present public key, with its id.
func (p *Provider) Public() jose.JSONWebKey {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[len(p.keys)-1].Public()
}

// Be makes a user sign in next. The claims become claims of the user's tokens.
func (p *Provider) Be(user Claims) { p.set(func() { p.user = user }) }

// Live sets how long the tokens of later sign-ins are valid.
func (p *Provider) Live(life time.Duration) { p.set(func() { p.life = life }) }

// Down makes the provider break every connection, until it is called with false.
func (p *Provider) Down(down bool) { p.set(func() { p.down = down }) }

// ConfuseNonce gives later ID tokens of the code flow a wrong nonce.
func (p *Provider) ConfuseNonce(nonce string) { p.set(func() { p.nonce = nonce }) }

// ByPost makes clients prove themselves by client_secret_post alone. A request that does so otherwise uses its code up.
func (p *Provider) ByPost() { p.set(func() { p.byPost = true }) }

// Blank makes the provider answer requests for its keys by an empty object, until it is called with false.
func (p *Provider) Blank(blank bool) { p.set(func() { p.blank = blank }) }

// Divert makes the provider redirect requests for tokens to an address.
func (p *Provider) Divert(to string) { p.set(func() { p.divert = to }) }

func (p *Provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// Asked returns how many requests for a path have arrived.
func (p *Provider) Asked(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

// Rotate replaces the key of the provider, and returns the new one.
func (p *Provider) Rotate() jose.JSONWebKey {
	key := NewKey(p.t)
	p.set(func() { p.keys = []jose.JSONWebKey{key} })
	return key
}

// Replace replaces the key of the provider by one with the same id, as a provider does that numbers its keys at each start.
func (p *Provider) Replace() {
	key := NewKey(p.t)
	p.set(func() {
		key.KeyID = p.keys[len(p.keys)-1].KeyID
		p.keys = []jose.JSONWebKey{key}
	})
}

// NewKey makes a key that no provider has.
func NewKey(t testing.TB) jose.JSONWebKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}
}

// Token signs an ID token for Client. claims replace those that the token has by default.
func (p *Provider) Token(claims Claims) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.signLocked(Client, "", claims)
}

func (p *Provider) signLocked(client, nonce string, claims Claims) string {
	now := time.Now()
	all := Claims{"iss": p.Issuer, "aud": client, "sub": "1", "iat": now.Unix(), "exp": now.Add(p.life).Unix()}
	if nonce != "" {
		all["nonce"] = nonce
	}
	maps.Copy(all, claims)
	return Sign(p.t, p.keys[len(p.keys)-1], all)
}

// Sign signs a token with any key and any claims.
func Sign(t testing.TB, key jose.JSONWebKey, claims Claims) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Unsigned returns a token without a signature.
func Unsigned(t testing.TB, claims Claims) string {
	t.Helper()
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode(text) + "."
}

// available counts requests, and breaks connections while the provider is down.
func (p *Provider) available(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked[r.URL.Path]++
		down := p.down
		p.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

func (p *Provider) metadata(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	proofs := []string{"client_secret_basic", "client_secret_post"}
	if p.byPost {
		proofs = proofs[1:]
	}
	answer(w, http.StatusOK, map[string]any{
		"token_endpoint_auth_methods_supported": proofs,
		"issuer":                                p.Issuer,
		"authorization_endpoint":                p.Issuer + "/authorize",
		"token_endpoint":                        p.Issuer + "/token",
		"device_authorization_endpoint":         p.Issuer + "/device",
		"revocation_endpoint":                   p.Issuer + "/revoke",
		"jwks_uri":                              p.Issuer + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		"scopes_supported":                      []string{"openid", "email", "profile", "groups", "offline_access"},
	})
}

func (p *Provider) publicKeys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.blank {
		answer(w, http.StatusOK, struct{}{})
		return
	}
	// Some providers list keys of kinds that no client knows.
	set := []any{map[string]string{"kty": "OKP", "crv": "X448", "kid": "strange", "x": "AA"}}
	for _, key := range p.keys {
		set = append(set, key.Public())
	}
	answer(w, http.StatusOK, map[string]any{"keys": set})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// refuse answers as RFC 6749 says.
func refuse(w http.ResponseWriter, reason string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": reason})
}

// withQuery adds parameters to an address.
func withQuery(address string, add url.Values) string { return address + "?" + add.Encode() }
