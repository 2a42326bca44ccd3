package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the template of the page
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// The login page. `GET /login?next=PATH` shows a form for a token, which `POST /login` accepts. `GET /login?code=CODE` needs no
// form. Both begin a session and lead to PATH. `POST /logout` ends the session. `GET /login/oidc` leads to the OpenID provider.
const (
	loginPath  = "/login"
	logoutPath = "/logout"
)

//go:embed login.html
var loginHTML string

//go:embed login.css
var loginCSS string

var loginPage = template.Must(template.New("login").Parse(loginHTML))

// loginView is the content of the login page.
type loginView struct {
	Next    string // path of the page that the browser wants to see
	Problem string // why the last try failed; empty if there was none
	Style   template.CSS
	OpenID  string // path at which the browser signs in by the OpenID provider; empty if there is none
	Form    bool   // the browser has sent a form, which it can send again; so the sign-in opens another tab
}

// loginPolicy allows the login page its own style and to send its form, and forbids the rest.
var loginPolicy = "default-src 'none'; style-src 'sha256-" + sum64(loginCSS) + "'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'"

// sum64 returns the SHA-256 of a text, as policies of browsers write it.
func sum64(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (s *Server) registerLogin(root *http.ServeMux) {
	root.HandleFunc("GET "+loginPath, s.login)
	root.HandleFunc("POST "+loginPath, s.loginByToken)
	root.HandleFunc("POST "+logoutPath, s.logout)
	if s.cfg.OpenID != nil {
		root.HandleFunc("GET "+openIDPath, s.beginOpenID)
		root.HandleFunc("GET "+callbackPath, s.endOpenID)
	}
}

// signedIn protects a page. A browser without a session gets the login page instead, which leads back to this page. The page
// itself asks proven for its caller, and shows only what the caller may read. Without authentication, signedIn changes nothing.
func (s *Server) signedIn(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.cfg.Observe || !proven(r.Context()).Anonymous() || proven(r.Context()).May(auth.Read, auth.Object{}):
			page.ServeHTTP(w, r)
		case unchecked(r.Context()):
			v := loginView{Next: localPath(r.URL.RequestURI()), Problem: notChecked}
			if r.Method == http.MethodPost {
				v = loginView{Next: "/", Form: true, Problem: notChecked + " Nothing was changed. The reload sends your form again."}
			}
			s.showLogin(w, http.StatusServiceUnavailable, v)
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, loginPath+"?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		case isPerson(r):
			s.showLogin(w, http.StatusUnauthorized, loginView{Next: "/", Form: true, Problem: sendAgain})
		default:
			w.Header().Set("WWW-Authenticate", challenge)
			writeProblem(w, http.StatusUnauthorized, "sign in at "+loginPath)
		}
	})
}

// sendAgain says how a person keeps what was typed into a form whose session has ended.
const sendAgain = "Your session has ended, and nothing was changed. Sign in: this opens another tab. " +
	"Then come back, and reload this tab: the browser sends your form again."

// notChecked says what a person can do whose session may be valid.
const notChecked = "This replica cannot check your session, because the store does not answer. " +
	"Reload this page, or ask another replica."

// login shows the form, or signs the browser in by a code.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	next, code := localPath(r.FormValue("next")), r.FormValue("code")
	switch {
	case s.cfg.Sessions == nil: // everybody may do everything
		http.Redirect(w, r, next, http.StatusSeeOther)
	case code == "" && !proven(r.Context()).Anonymous():
		http.Redirect(w, r, next, http.StatusSeeOther)
	case code == "":
		v := loginView{Next: next}
		switch {
		case unchecked(r.Context()):
			v.Problem = notChecked
		case SessionOf(r) != "":
			v.Problem = "Your session has ended. Sign in again."
		}
		s.showLogin(w, http.StatusOK, v)
	case r.Method != http.MethodGet || strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch"):
		w.WriteHeader(http.StatusNoContent) // only a visit by a person uses the code
	case fromElsewhere(r):
		s.refused(RefusedOrigin)
		s.showLogin(w, http.StatusForbidden, loginView{Next: next, Problem: "Another site has opened this link. If it is yours, " +
			"copy it into the address bar."})
	default:
		key, err := s.cfg.Sessions.Redeem(r.Context(), auth.Key(code))
		s.begin(w, r, next, key, err)
	}
}

// fromElsewhere reports whether a page of another site, or of another port of this host, leads the browser here. Such a page could
// sign the browser in as somebody else, who would then see what the person does.
func fromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// loginByToken signs the browser in by the token of the form.
func (s *Server) loginByToken(w http.ResponseWriter, r *http.Request) {
	next := localPath(r.PostFormValue("next"))
	if s.cfg.Sessions == nil {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	c, err := s.cfg.Sessions.ByToken(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	switch {
	case errors.Is(err, auth.ErrProvider):
		s.refuseOpenID(w, r, next, err)
		return
	case errors.Is(err, auth.ErrStale):
		s.begin(w, r, next, "", err)
		return
	case err != nil:
		s.refuseLogin(w, r, next, "This token is not valid.", err)
		return
	}
	s.signIn(w, r, next, c)
}

// signIn begins a session of a caller, unless the caller begins too many.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, next string, c auth.Caller) {
	if wait := s.signIns.wait(c.Principal); wait > 0 {
		s.refused(RefusedRate)
		w.Header().Set("Retry-After", seconds(wait))
		s.showLogin(w, http.StatusTooManyRequests, loginView{Next: next, Problem: "You have signed in too often. Wait a moment."})
		return
	}
	key, err := s.cfg.Sessions.SignIn(r.Context(), c)
	s.begin(w, r, next, key, err)
}

// begin gives the browser its session, or shows why there is none.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, next string, key auth.Key, err error) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case err == nil:
		if before := SessionOf(r); before != "" {
			_ = s.cfg.Sessions.SignOut(r.Context(), before) // otherwise it ends by itself, when nobody has used it for long
		}
		setSession(w, r, key)
		http.Redirect(w, r, next, http.StatusSeeOther)
	case errors.Is(err, auth.ErrCode):
		s.refuseLogin(w, r, next, "This link was used before, or it has expired. Run `rota open` for a new one.", err)
	default:
		s.logWithin(r, "login failed", err)
		s.showLogin(w, http.StatusServiceUnavailable, loginView{Next: next, Problem: "The store does not answer. Try again."})
	}
}

// refuseLogin shows why a token or a code is not valid.
func (s *Server) refuseLogin(w http.ResponseWriter, r *http.Request, next, problem string, err error) {
	s.logRefusal(r, "login refused", err)
	s.showLogin(w, http.StatusUnauthorized, loginView{Next: next, Problem: problem})
}

// logout ends the session of the browser.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if key := SessionOf(r); key != "" && s.cfg.Sessions != nil {
		if err := s.cfg.Sessions.SignOut(r.Context(), key); err != nil {
			s.logWithin(r, "logout failed", err)
			w.Header().Set("Retry-After", retryAfter)
			writeProblem(w, http.StatusServiceUnavailable, "the session was not ended: the store does not answer")
			return
		}
	}
	setSession(w, r, "")
	http.Redirect(w, r, loginPath, http.StatusSeeOther)
}

func (s *Server) showLogin(w http.ResponseWriter, status int, v loginView) {
	if s.cfg.OpenID != nil {
		v.OpenID = openIDPath + "?next=" + url.QueryEscape(v.Next)
	}
	v.Style = template.CSS(loginCSS)
	var page bytes.Buffer
	if err := loginPage.Execute(&page, v); err != nil {
		s.log.Error("login page was not made", "err", err)
		writeProblem(w, http.StatusInternalServerError, "a defect in rota: its log has the details")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", loginPolicy)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the client may be gone
}

// localPath returns the path of a page of this server; "/" if the text leads anywhere else.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") ||
		strings.ContainsAny(text, "\\\r\n") || u.Path == loginPath || u.Path == logoutPath || u.Path == openIDPath ||
		u.Path == callbackPath {
		return "/"
	}
	return u.RequestURI()
}
