package openid

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/oauth2"

	"github.com/rota-scheduler/rota/cmd/rota/internal/loop"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// How often a Provider reads the addresses and keys, and how long they count.
const (
	readEvery    = 5 * time.Minute
	retryEvery   = 10 * time.Second // after a failure
	onDemand     = 2 * time.Second  // the shortest time between two reads for requests
	keysOutage   = 24 * time.Hour   // how long keys count while the provider does not answer
	answerWithin = 5 * time.Second
	maxAnswer    = 1 << 20 // bytes of an answer
	maxRedirects = 10
)

// Provider is an OpenID provider. It is safe for concurrent use.
type Provider struct {
	set    config.OpenID
	client *http.Client
	now    func() time.Time
	log    hclog.Logger

	known   atomic.Pointer[metadata] // nil until the provider has answered
	trouble atomic.Pointer[Trouble]  // nil: it answered at the last read
	reading chan struct{}            // holds one token: its holder reads, and owns the next field
	tried   time.Time                // the end of the last read
}

// Trouble says why the provider cannot be used.
type Trouble struct {
	Text  string
	Since time.Time
}

// metadata is what the provider says about itself.
type metadata struct {
	endpoint oauth2.Endpoint
	keys     []jose.JSONWebKey
	at       time.Time // of the read
}

// Open returns a provider. It does not ask the provider; call Run for this. The error says why the settings cannot be used.
func Open(set config.OpenID, now func() time.Time, log hclog.Logger) (*Provider, error) {
	transport, err := newTransport(set.CA)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		set: set, now: now, log: log, reading: make(chan struct{}, 1),
		client: &http.Client{Transport: transport, Timeout: answerWithin, CheckRedirect: keepSecrets},
	}
	p.reading <- struct{}{}
	return p, nil
}

// keepSecrets refuses to send the secret and a code to another place than the token endpoint.
func keepSecrets(_ *http.Request, before []*http.Request) error {
	if len(before) == maxRedirects || before[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	return nil
}

// Run reads the addresses and keys of the provider until ctx ends.
func (p *Provider) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		pause := readEvery
		if p.read(ctx, 0); p.trouble.Load() != nil {
			pause = retryEvery
		}
		loop.Pause(ctx, pause)
	}
	p.client.CloseIdleConnections()
	return nil
}

// Trouble returns why the provider cannot be used; nil if it answered at the last read.
func (p *Provider) Trouble() *Trouble { return p.trouble.Load() }

// read reads the addresses and keys, unless a read has ended within the time least. It keeps the last ones if that fails. So a
// request that has waited for another one's read does not begin a further read.
func (p *Provider) read(ctx context.Context, least time.Duration) {
	select {
	case <-p.reading:
		defer func() { p.reading <- struct{}{} }()
	case <-ctx.Done():
		return
	}
	now := p.now()
	if !p.tried.IsZero() && now.Sub(p.tried) < least {
		return
	}
	found, err := p.discover(context.WithoutCancel(ctx)) // others wait for the same answer
	p.tried = p.now()
	last := p.trouble.Load()
	switch {
	case err == nil:
		found.at = now
		if p.known.Store(found); last != nil {
			p.trouble.Store(nil)
			p.log.Info("openid provider answers again", "issuer", p.set.Issuer)
		}
	case last == nil:
		p.trouble.Store(&Trouble{Text: err.Error(), Since: now.UTC()})
		p.log.Error("openid provider cannot be used", "issuer", p.set.Issuer, "err", err)
	default:
		p.trouble.Store(&Trouble{Text: err.Error(), Since: last.Since})
	}
}

// discover asks the provider for its addresses and keys.
func (p *Provider) discover(ctx context.Context) (*metadata, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), answerWithin)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, p.set.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the addresses of the provider: %w", err)
	}
	var more struct {
		Keys  string   `json:"jwks_uri"`
		Proof []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("read the addresses of the provider: %w", err)
	}
	keys, err := p.readKeys(ctx, more.Keys)
	if err != nil {
		return nil, fmt.Errorf("read the keys of the provider: %w", err)
	}
	endpoint := provider.Endpoint()
	if p.set.ClientSecretFile == "" || len(more.Proof) > 0 && !slices.Contains(more.Proof, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams // otherwise a first request would try Basic, and could use the code up
	}
	return &metadata{endpoint: endpoint, keys: keys}, nil
}

// readKeys reads a set of keys. It leaves out keys of unknown kinds, and keys that are not for signatures.
func (p *Provider) readKeys(ctx context.Context, from string) ([]jose.JSONWebKey, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	res, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", from, res.Status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(res.Body).Decode(&set); err != nil {
		return nil, err
	}
	if set.Keys == nil { // not an empty list, by which a provider takes its keys back
		return nil, fmt.Errorf("%s has no keys", from)
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// usable returns what is known about the provider. The error is auth.ErrProvider if that is nothing, or too old.
func (p *Provider) usable(ctx context.Context) (*metadata, error) {
	known := p.known.Load()
	if known == nil {
		p.read(ctx, onDemand)
		known = p.known.Load()
	}
	if known == nil || p.now().Sub(known.at) > keysOutage {
		return nil, auth.ErrProvider
	}
	return known, nil
}
