package provider

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
)

// authorize signs the user in at once, and sends the browser back with a code.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p.mu.Lock()
	defer p.mu.Unlock()
	client, redirect := q.Get("client_id"), q.Get("redirect_uri")
	switch {
	case client == Public && !strings.HasPrefix(redirect, "http://127.0.0.1:"):
		http.Error(w, "a public client is on the machine of its user", http.StatusBadRequest)
		return
	case client != Client && client != Public, q.Get("response_type") != "code", !strings.Contains(q.Get("scope"), "openid"):
		http.Error(w, "wrong request", http.StatusBadRequest)
		return
	case q.Get("code_challenge_method") != "S256":
		http.Error(w, "PKCE is needed", http.StatusBadRequest)
		return
	}
	if p.user == nil {
		back := url.Values{"error": {"access_denied"}, "state": {q.Get("state")}}
		http.Redirect(w, r, withQuery(redirect, back), http.StatusSeeOther)
		return
	}
	code, nonce := rand.Text(), q.Get("nonce")
	if p.nonce != "" {
		nonce = p.nonce
	}
	p.codes[code] = grant{client, redirect, q.Get("code_challenge"), nonce, p.user}
	http.Redirect(w, r, withQuery(redirect, url.Values{"code": {code}, "state": {q.Get("state")}}), http.StatusSeeOther)
}

// token exchanges a code, a device code or a refresh token.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	client, secret, basic := r.BasicAuth()
	if !basic {
		client, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.divert != "" {
		http.Redirect(w, r, p.divert, http.StatusTemporaryRedirect)
		return
	}
	if basic && (p.byPost || client == Public) { // a public client has no Basic
		delete(p.codes, r.PostFormValue("code"))
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	if client == Client && secret != Secret || client != Client && client != Public {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		g, ok := p.codes[r.PostFormValue("code")]
		delete(p.codes, r.PostFormValue("code"))
		if !ok || g.client != client || g.redirect != r.PostFormValue("redirect_uri") || !proves(r, g.challenge) {
			refuse(w, "invalid_grant")
			return
		}
		p.giveLocked(w, client, g.nonce, g.user)
	case "urn:ietf:params:oauth:grant-type:device_code":
		d := p.devices[r.PostFormValue("device_code")]
		switch {
		case d == nil || d.client != client || !proves(r, d.challenge):
			refuse(w, "invalid_grant")
		case d.denied:
			refuse(w, "access_denied")
		case d.user == nil:
			refuse(w, "authorization_pending")
		default:
			delete(p.devices, r.PostFormValue("device_code"))
			p.giveLocked(w, client, "", d.user)
		}
	case "refresh_token":
		user := p.refresh[r.PostFormValue("refresh_token")]
		delete(p.refresh, r.PostFormValue("refresh_token"))
		if user == nil {
			refuse(w, "invalid_grant")
			return
		}
		p.giveLocked(w, client, "", user)
	default:
		refuse(w, "unsupported_grant_type")
	}
}

// proves reports whether a request has the verifier of a challenge of PKCE.
func proves(r *http.Request, challenge string) bool {
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	return base64.RawURLEncoding.EncodeToString(sum[:]) == challenge
}

// giveLocked answers with tokens of a user.
func (p *Provider) giveLocked(w http.ResponseWriter, client, nonce string, user Claims) {
	again := rand.Text()
	p.refresh[again] = user
	answer(w, http.StatusOK, map[string]any{
		"access_token": rand.Text(), "token_type": "Bearer", "expires_in": int(p.life.Seconds()),
		"refresh_token": again, "id_token": p.signLocked(client, nonce, user),
	})
}

// beginDevice begins the device flow.
func (p *Provider) beginDevice(w http.ResponseWriter, r *http.Request) {
	client := r.PostFormValue("client_id")
	if client != Public || !strings.Contains(r.PostFormValue("scope"), "offline_access") {
		refuse(w, "invalid_client")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	d := &device{client: client, userCode: rand.Text()[:8], challenge: r.PostFormValue("code_challenge")}
	p.devices[code] = d
	answer(w, http.StatusOK, map[string]any{
		"device_code": code, "user_code": d.userCode, "interval": 1, "expires_in": 60,
		"verification_uri":          p.Issuer + "/activate",
		"verification_uri_complete": withQuery(p.Issuer+"/activate", url.Values{"user_code": {d.userCode}}),
	})
}

// activate is the page on which the user enters the code of a device. Without a user, it refuses the device.
func (p *Provider) activate(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.devices {
		if d.userCode == r.FormValue("user_code") {
			d.user, d.denied = p.user, p.user == nil
			return
		}
	}
	http.Error(w, "unknown code", http.StatusNotFound)
}

// revoke makes a refresh token invalid.
func (p *Provider) revoke(_ http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.refresh, r.PostFormValue("token"))
}
