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

// Inbox is the webhook of a notifier.
type Inbox struct {
	url string

	mu    sync.Mutex
	hangs bool     // guarded by mu
	asked int      // guarded by mu: number of requests while it hung
	texts []string // guarded by mu: the notifications
}

// NewInbox starts an inbox that accepts everything.
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

// Notify returns settings that send a notification to b for everything that happens.
func (b *Inbox) Notify() job.Notify { return job.Notify{"inbox": {URL: b.url, Repeat: 1}} }

// NotifyOnce returns settings that send one notification to b for each cause.
func (b *Inbox) NotifyOnce() job.Notify { return job.Notify{"inbox": {URL: b.url}} }

func (b *Inbox) serve(_ http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body) // no test waits for a truncated text
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

// Hang makes b hang, or answer again.
func (b *Inbox) Hang(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hangs = on
}

// Asked returns the number of requests that arrived while b hung.
func (b *Inbox) Asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// Texts returns the notifications in their order.
func (b *Inbox) Texts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.texts)
}

// About returns the notifications that begin with title.
func (b *Inbox) About(title string) (texts []string) {
	for _, text := range b.Texts() {
		if strings.HasPrefix(text, title) {
			texts = append(texts, text)
		}
	}
	return texts
}
