package page

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestOpenAwaitsItsPage opens a page that arrives in two parts, while the script of the page before it changes the address. The second
// part comes after a request of the first.
func TestOpenAwaitsItsPage(t *testing.T) {
	b := newBrowser(t)
	first := make(chan struct{}, 1)
	site := http.NewServeMux()
	site.HandleFunc("/before", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<script>addEventListener('beforeunload', () => history.replaceState(null, '', '/before?changed'))</script>`)
	})
	site.HandleFunc("/first", func(http.ResponseWriter, *http.Request) { first <- struct{}{} })
	site.HandleFunc("/after", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<script>setTimeout(() => fetch('/first'), 500)</script>")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		select {
		case <-first:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, "<main>after</main>")
	})
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	b.open(server.URL + "/before")
	b.open(server.URL + "/after")
	if got := b.text("main"); got != "after" {
		t.Errorf("the browser shows %q, want %q", got, "after")
	}
}
