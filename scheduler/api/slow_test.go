package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// The small bodies of some addresses must not take the places of all others while they are on their way.
func TestSlowBodiesTakeNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(DefaultConfig(), Backend{}, hclog.NewNullLogger())
		handler := s.bounded(s.takeBody(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if b, err := io.ReadAll(r.Body); err != nil || string(b) != "body" {
				t.Errorf("the handler gets %q, %v", b, err)
			}
		})))
		ask := func(address string, body io.Reader) int {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/hooks/deployed", body)
			r.RemoteAddr, r.ContentLength = address+":1234", 4
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		body, send := io.Pipe()
		var open sync.WaitGroup
		for i := range maxRequests + clientRequests {
			open.Go(func() { ask(fmt.Sprintf("10.0.0.%d", i/clientRequests), body) })
		}
		synctest.Wait()
		if got := ask("10.0.0.99", strings.NewReader("body")); got != http.StatusOK {
			t.Errorf("a body of another address: got %d", got)
		}
		if got := ask("10.0.0.1", strings.NewReader("body")); got != http.StatusTooManyRequests {
			t.Errorf("one body more of an address: got %d", got)
		}
		_ = send.CloseWithError(io.ErrUnexpectedEOF)
		open.Wait()
	})
}

// cuttable answers a request whose body ends with its read deadline.
type cuttable struct {
	*httptest.ResponseRecorder
	body *io.PipeWriter
}

func (c cuttable) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && !at.After(time.Now()) {
		return c.body.CloseWithError(os.ErrDeadlineExceeded)
	}
	return nil
}

// The large bodies of some addresses must not keep those of others out while they are on their way: the oldest ones make room.
func TestSlowLargeBodiesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(DefaultConfig(), Backend{}, hclog.NewNullLogger())
		handler := s.bounded(s.takeBody(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		var answers sync.Map // by the number of the request
		var open sync.WaitGroup
		ask := func(n int, address string) *io.PipeWriter {
			body, send := io.Pipe()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/hooks/deployed", body)
			r.RemoteAddr, r.ContentLength = address+":1234", smallBody+1
			open.Go(func() {
				w := cuttable{httptest.NewRecorder(), send}
				handler.ServeHTTP(w, r)
				answers.Store(n, w.Code)
			})
			synctest.Wait()
			return send
		}
		var slow []*io.PipeWriter
		for i := range maxBodies {
			slow = append(slow, ask(i, fmt.Sprintf("10.0.0.%d", i/clientBodies)))
		}
		for i := range 2 {
			body := ask(maxBodies+i, "10.0.0.99")
			_, _ = body.Write(make([]byte, smallBody+1)) // an error: the request was refused
			_ = body.Close()
			synctest.Wait()
		}
		for n, want := range map[int]any{0: http.StatusRequestTimeout, 1: nil, maxBodies: http.StatusOK, maxBodies + 1: http.StatusOK} {
			if got, _ := answers.Load(n); got != want {
				t.Errorf("request %d: got %v, want %v", n, got, want)
			}
		}
		for _, body := range slow {
			_ = body.CloseWithError(io.ErrUnexpectedEOF)
		}
		open.Wait()
	})
}

// If too many bodies are on their way, the oldest one makes room.
func TestTheOldestBodyMakesRoom(t *testing.T) {
	a := arrivals{limit: maxArrivals}
	var cut []int
	var arrived []func() bool
	for i := range maxArrivals + 2 {
		arrived = append(arrived, a.await(func() { cut = append(cut, i) }))
		if i == 1 {
			arrived[1]()
		}
	}
	if !slices.Equal(cut, []int{0}) {
		t.Errorf("cut %v, want the oldest, 0", cut)
	}
	for i, end := range arrived {
		if inTime := end(); inTime != (i != 0) {
			t.Errorf("body %d arrived in time: %v", i, inTime)
		}
	}
	if n := a.waiting.Len(); n != 0 {
		t.Errorf("%d bodies are left", n)
	}
}

// crowded is a body that arrives while so many others are on their way that it makes room.
type crowded struct{ others *arrivals }

func (c crowded) Read([]byte) (int, error) {
	for range maxArrivals {
		c.others.await(func() {})
	}
	return 0, io.EOF
}

// The deadline of a body that made room would end the context of its handler. So it reaches none, although it has arrived.
func TestABodyThatMadeRoomReachesNoHandler(t *testing.T) {
	s := New(DefaultConfig(), Backend{}, hclog.NewNullLogger())
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/hooks/deployed", crowded{s.bounds.arrivals[0]})
	r.ContentLength = 4
	w := httptest.NewRecorder()
	s.bounded(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler runs") })).ServeHTTP(w, r)
	if w.Code != http.StatusRequestTimeout {
		t.Errorf("got %d", w.Code)
	}
}

// A client that reads its lists slowly must leave places for others. Further lists of the client wait a moment.
func TestListsAreLimitedByClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(DefaultConfig(), Backend{}, hclog.NewNullLogger())
		end := make(chan struct{})
		handler := s.bounded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "slow" {
				<-end
			}
		}))
		ask := func(target string, c auth.Caller) int {
			ctx := context.WithValue(t.Context(), provenKey{}, c)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, target, nil))
			return w.Code
		}
		alice := byToken("alice")
		var open sync.WaitGroup
		for range clientLists {
			open.Go(func() { ask("/v1/runs?slow", alice) })
		}
		synctest.Wait()
		began := time.Now()
		if got, took := ask("/v1/jobs", alice), time.Since(began); got != http.StatusTooManyRequests || took != listPatience {
			t.Errorf("one list more: got %d after %v, want 429 after %v", got, took, listPatience)
		}
		began = time.Now()
		if got, took := ask("/v1/jobs", byToken("bob")), time.Since(began); got != http.StatusOK || took != 0 {
			t.Errorf("a list of another client: got %d after %v", got, took)
		}
		for range 20 {
			open.Go(func() {
				if got := ask("/v1/jobs", alice); got != http.StatusOK {
					t.Errorf("a list after the others: got %d", got)
				}
			})
		}
		synctest.Wait()
		close(end)
		open.Wait()
	})
}
