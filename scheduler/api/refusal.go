package api

import (
	_ "embed" // the template of the page
	"html/template"
	"net/http"
	"strings"
)

//go:embed refusal.html
var refusalHTML string

var refusalPage = template.Must(template.New("refusal").Parse(refusalHTML))

// isPerson reports whether a person sees the answer to a request in a browser.
func isPerson(r *http.Request) bool {
	return !strings.HasPrefix(r.URL.Path, "/v1/") && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// writeRefusal shows a person why a request reached no page. The page needs nothing else from this server.
func writeRefusal(w http.ResponseWriter, r *http.Request, status int, detail string) {
	hint, after := "", w.Header().Get("Retry-After")
	switch {
	case after != "":
		hint = "Wait " + after + " s, and reload this page."
		if !reads(r) {
			hint = "Nothing was changed. Wait " + after + " s, and reload this page: the browser sends your form again."
		}
	case !reads(r) && status < http.StatusInternalServerError:
		hint = "Nothing was changed. Go back to your form."
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", loginPolicy)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = refusalPage.Execute(w, struct { // an error means that the client is gone
		Title, Detail, Hint string
		Style               template.CSS
	}{http.StatusText(status), capital(detail), hint, template.CSS(loginCSS)})
}

// capital returns a text as a sentence.
func capital(text string) string {
	return strings.ToUpper(text[:min(1, len(text))]) + text[min(1, len(text)):] + "."
}
