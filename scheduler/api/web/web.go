package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
)

//go:embed templates static
var files embed.FS

// policy forbids every source besides this process, and every inline script and style.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// Config configures the page.
type Config struct {
	// Definition writes a job in the form of a job file.
	Definition func(name string, spec *job.Spec) (string, error)
	// File reads the text of a job file. The error has all mistakes, with their places.
	File func(text string) (File, error)
	// Upcoming returns the next slot of a job after now; zero if it has none.
	Upcoming func(name string, spec *job.Spec, now time.Time) time.Time
	// Next returns the first n slots of a schedule that belongs to no job.
	Next func(t Trial, n int) (api.NextView, error)
}

// site answers the requests for the page.
type site struct {
	ops    api.Operations
	cfg    Config
	views  map[string]*template.Template // by name
	assets map[string]asset              // by path

	reference reference
}

// asset is a static file. Its path contains a hash of its content.
type asset struct {
	kind string
	body []byte
}

// New returns the handler of the page.
func New(ops api.Operations, cfg Config) http.Handler {
	s := &site{ops: ops, cfg: cfg, views: map[string]*template.Template{}, assets: map[string]asset{}}
	links := s.loadAssets()
	layout := template.Must(
		template.New("layout.html").Funcs(functions(links)).ParseFS(files, "templates/layout.html", "templates/parts.html"),
	)
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is fixed
	}
	for _, name := range names {
		if view := strings.TrimSuffix(path.Base(name), ".html"); view != "layout" && view != "parts" {
			s.views[view] = template.Must(template.Must(layout.Clone()).ParseFS(files, name))
		}
	}
	return s.routes()
}

// loadAssets reads the static files, and returns their paths by name.
func (s *site) loadAssets() map[string]string {
	links := map[string]string{}
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		panic(err) // the folder is embedded
	}
	for _, e := range entries {
		body, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		link := api.StaticPath + hex.EncodeToString(sum[:6]) + "/" + e.Name()
		links[e.Name()] = link
		s.assets[link] = asset{mime.TypeByExtension(path.Ext(e.Name())), body}
	}
	return links
}

// view is a handler that returns what a page shows.
type view func(r *http.Request) (*page, error)

func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static/", s.static)
	for pattern, v := range map[string]view{
		"GET /{$}":                 s.overview,
		"GET /jobs":                s.jobs,
		"GET /jobs/{job}":          s.job,
		"GET /runs":                s.runs,
		"GET /runs/{job}/{slot}":   s.run,
		"GET /jobs/{job}/at":       s.slot,
		"GET /jobs/{job}/workflow": s.grid,
		"GET /workers":             s.workers,
		"GET /limits":              s.limits,
		"GET /calendars":           s.calendars,
		"GET /tokens":              s.tokens,
		"GET /schedule":            s.schedule,
		"GET /cluster":             s.cluster,
		"GET /timeline":            s.timeline,
		"GET /timeline/week":       s.week,
		"GET /events":              s.events,
		"GET /audit":               s.audit,
		"GET /api":                 s.api,
		"GET /do/{action}":         s.ask,
		"GET /":                    s.notFound,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.show(w, r, v) })
	}
	mux.HandleFunc("POST /do/{action}", s.perform)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		if to := withoutSlash(mux, r); to != nil {
			http.Redirect(w, r, to.String(), http.StatusMovedPermanently)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// withoutSlash returns the address of the page that a request means, if it only has a slash too many at its end; nil if not.
func withoutSlash(mux *http.ServeMux, r *http.Request) *url.URL {
	short := path.Clean(r.URL.Path)
	if r.Method != http.MethodGet || short+"/" != r.URL.Path {
		return nil
	}
	to := &url.URL{Path: short, RawQuery: r.URL.RawQuery}
	if _, pattern := mux.Handler(&http.Request{Method: r.Method, URL: to}); pattern == "GET /" {
		return nil // there is no such page
	}
	return to
}

func (s *site) static(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body) // the client may be gone
}

// show answers a request with a view, or with the reason why there is none.
func (s *site) show(w http.ResponseWriter, r *http.Request, v view) {
	rev := s.ops.Revision() // before the data: changes that come meanwhile are in the stream of the page
	p, err := v(r)
	if err != nil {
		p = s.failed(err)
	}
	p.Revision = rev
	s.write(w, r, p)
}

// failed returns the page that shows an error.
func (s *site) failed(err error) *page {
	p := &page{View: "problem", Title: "Not available", Status: http.StatusInternalServerError}
	data := &problemData{Detail: err.Error()}
	if problem, ok := errors.AsType[*api.Problem](err); ok {
		p.Status, data.Detail = problem.Status, problem.Detail
	}
	switch p.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		p.Title, data.Hint = "Invalid value", "Go back, and correct the value."
		data.Detail = strings.TrimPrefix(data.Detail, "query.") // a place in the request, but the client sees a form
	case http.StatusNotFound:
		p.Title, data.Hint = "Not found", "Search for the job, or look at the latest runs."
		p.Watch = "*" // the view of this replica may be old
	case http.StatusUnauthorized:
		p.Title = "Sign in"
		data.Detail = "This cluster shows its jobs only to people it knows."
		data.Hint = "Send a token as Authorization: Bearer, or a client certificate."
	case http.StatusForbidden:
		p.Title, data.Hint = "Not allowed", "Ask an administrator for a role that includes this right."
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		p.Watch, data.Hint = "*", "Another replica may answer. This page tries again by itself."
		if isRestored(data.Detail) {
			data.Hint, data.Link = "Look at what the store has before you accept it.", acceptLink
		}
	}
	p.Data = data
	return p
}

// problemData is the data of the view problem.
type problemData struct{ Detail, Hint, Link string }

func (s *site) notFound(r *http.Request) (*page, error) {
	return nil, &api.Problem{Status: http.StatusNotFound, Detail: fmt.Sprintf("There is no page %s.", r.URL.Path)}
}

// write renders a page.
func (s *site) write(w http.ResponseWriter, r *http.Request, p *page) {
	s.complete(r, p)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	text, err := s.render(r, p)
	if err != nil {
		h.Set("Retry-After", "2")
		h.Set("Refresh", "2")
		http.Error(w, "This replica has no time for more pages. Reload this page, or ask another replica.", http.StatusServiceUnavailable)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(cmp.Or(p.Status, http.StatusOK))
	_, _ = w.Write(text) // the client may be gone
}

// render makes the text of a page. It returns an error if this process has no time for it. The answer to a change is made in any
// case, because it may have what nobody can read again, such as the text of a token.
func (s *site) render(r *http.Request, p *page) ([]byte, error) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		leave, err := api.Turn(r.Context())
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	var b bytes.Buffer
	if err := s.views[p.View].ExecuteTemplate(&b, "layout.html", p); err != nil {
		panic(fmt.Errorf("render %s: %w", p.View, err))
	}
	return showTurns(b.Bytes()), nil
}
