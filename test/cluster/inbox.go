package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Inbox is a webhook that is told of jobs.
type Inbox struct {
	url string

	mu    sync.Mutex
	hangs bool     // guarded by mu
	asked int      // guarded by mu: requests that came while it hung
	texts []string // guarded by mu: what it was told
}

// NewInbox starts an inbox that takes everything.
func NewInbox(t testing.TB) *Inbox {
	b := &Inbox{}
	server := httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b.url = "generic+" + server.URL
	return b
}

// Notify has b told everything.
func (b *Inbox) Notify() job.Notify { return job.Notify{"inbox": {URL: b.url}} }

func (b *Inbox) serve(_ http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body) // what is cut short is not what a test waits for
	b.mu.Lock()
	hangs := b.hangs
	if hangs {
		b.asked++
	} else {
		b.texts = append(b.texts, string(text))
	}
	b.mu.Unlock()
	if hangs {
		<-r.Context().Done()
	}
}

// Hang has b answer nothing from now on, or answer again.
func (b *Inbox) Hang(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hangs = on
}

// Asked is how many requests came while it hung.
func (b *Inbox) Asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// Texts are what b was told, in that order.
func (b *Inbox) Texts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.texts)
}

// About are the messages that begin with title.
func (b *Inbox) About(title string) (texts []string) {
	for _, text := range b.Texts() {
		if strings.HasPrefix(text, title) {
			texts = append(texts, text)
		}
	}
	return texts
}
