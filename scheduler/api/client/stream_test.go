package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func TestEventsResume(t *testing.T) {
	var asked []string
	url, count := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Last-Event-ID")) // requests come one after the other
		w.Header().Set("Content-Type", "text/event-stream")
		switch len(asked) {
		case 1: // the connection breaks in the middle of revision 12
			fmt.Fprint(w, "retry: 1000\nid: 10\n\n: alive\nid: 11\n\nevent: run\ndata: {\"revision\":12,\"kind\":\"run\",\"name\":\"a/1\"}\n\nid: 12\nevent: run\ndata: {\"rev")
		case 2:
			fmt.Fprint(w, "retry: 1000\nid: 11\n\nid: 12\nevent: run\ndata: {\"revision\":12,\"kind\":\"run\",\"name\":\"a/2\"}\n\n")
		default:
			refuse(422, "enough")(w, r)
		}
	})
	var names []string
	var last error
	for e, err := range dial(t, client.Config{Servers: url}).Events(t.Context(), client.EventFilter{}) {
		if err != nil {
			last = err
			continue
		}
		names = append(names, e.Name)
	}
	if got, want := strings.Join(names, " "), "a/1 a/2"; got != want {
		t.Errorf("events: got %s, want %s", got, want)
	}
	if got, want := strings.Join(asked, ","), ",11,12"; got != want {
		t.Errorf("resumed after: got %s, want %s", got, want)
	}
	if last == nil || last.Error() != "enough" || count.Load() != 3 {
		t.Errorf("end: got %v after %d requests, want the refusal after 3", last, count.Load())
	}
}

func TestEventsEnd(t *testing.T) {
	t.Run("with their context", func(t *testing.T) {
		connected := make(chan struct{})
		url, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			close(connected)
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { <-connected; cancel() }() // ends with the request of the test
		var last error
		for _, err := range dial(t, client.Config{Servers: url}).Events(ctx, client.EventFilter{}) {
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", last)
		}
	})
	t.Run("when the caller has enough of nobody answering", func(t *testing.T) {
		for _, err := range dial(t, client.Config{Servers: nobody(t)}).Events(t.Context(), client.EventFilter{}) {
			if !errors.Is(err, api.ErrUnavailable) {
				t.Errorf("got %v, want ErrUnavailable", err)
			}
			break
		}
	})
}

func TestIncompleteLogsEndWithAnError(t *testing.T) {
	url, _ := server(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "half a li")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	out, err := dial(t, client.Config{Servers: url}).Logs(t.Context(), "backup/r1", 0, true)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if b, err := io.ReadAll(out); err == nil || string(b) != "half a li" {
		t.Errorf("got %q %v, want the half and an error", b, err)
	}
}
