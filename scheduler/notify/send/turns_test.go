package send_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Two notifiers of one URL send at the same time, as when many jobs fail. Neither sending may count as failed: it would be repeated,
// and alerts would call the notifier broken.
func TestSendingsToOneURLTakeTurns(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}, 2), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-answer
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	s := services(t)
	url := "ntfy://" + strings.TrimPrefix(server.URL, "http://") + "/topic?scheme=http"
	sent := make(chan error, 2)
	send := func() { sent <- s.Send(t.Context(), url, message) }
	go send() // both end before the test, unless it fails
	<-arrived
	go send()
	got := 0
	select {
	case err := <-sent:
		got++
		t.Errorf("the second sending did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(answer)
	for ; got < 2; got++ {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
}
