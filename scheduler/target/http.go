package target

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
)

// ByRun returns the scope of one run. After a newer attempt of the run, older ones are refused. Runs of one job do not wait for
// each other.
func ByRun(r *http.Request) string { return r.Header.Get("Rota-Run") }

// ByJob returns the scope of one job. After a newer run of the job, older ones are refused. It suits jobs whose overlap is not
// allow.
func ByJob(r *http.Request) string { return r.Header.Get("Rota-Job") }

// CallOf reads the headers that rota sends with each request. If a header is missing or malformed, the error names it.
func CallOf(r *http.Request, scope func(*http.Request) string) (Call, error) {
	c := Call{Scope: scope(r), Key: r.Header.Get("Idempotency-Key")}
	if unquoted, err := strconv.Unquote(c.Key); err == nil && strings.HasPrefix(c.Key, `"`) {
		c.Key = unquoted
	}
	token, err := strconv.ParseInt(r.Header.Get("Rota-Fencing-Token"), 10, 64)
	switch {
	case err != nil || token <= 0:
		return Call{}, errors.New("header Rota-Fencing-Token is not a positive number: send the request by rota")
	case c.Key == "":
		return Call{}, errors.New("header Idempotency-Key is missing: send the request by rota")
	case c.Scope == "":
		return Call{}, errors.New("headers Rota-Run and Rota-Job name no scope: send the request by rota")
	}
	c.Token = token
	return c, nil
}

// Handler returns a handler that calls next once for each run. next does its work in tx, which is committed together with the
// answer.
//
// Answers of 500 and above, 408, 425 and 429 make rota try again: their work is rolled back, and they are not stored. Every other
// answer is stored, and a repetition gets it again. An attempt that is too late gets 409. If the database does not answer, the
// attempt gets 503.
func (g *Guard) Handler(
	scope func(*http.Request) string, next func(w http.ResponseWriter, r *http.Request, tx *sql.Tx),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call, err := CallOf(r, scope)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var again *retryLater
		answer, repeated, err := g.Do(r.Context(), call, func(ctx context.Context, tx *sql.Tx) (Answer, error) {
			kept := &response{header: http.Header{}}
			next(kept, r.WithContext(ctx), tx)
			return kept.answer()
		})
		switch {
		case errors.As(err, &again):
			answer = again.answer
		case errors.Is(err, ErrStale):
			http.Error(w, err.Error(), http.StatusConflict)
			return
		case err != nil:
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
			return
		}
		var header http.Header
		if err := json.Unmarshal(answer.Header, &header); err != nil {
			http.Error(w, "the answer that was kept cannot be read", http.StatusInternalServerError)
			return
		}
		maps.Copy(w.Header(), header)
		if repeated {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		w.WriteHeader(answer.Status)
		_, _ = w.Write(answer.Body) // the client may be gone; a repetition gets the same answer
	})
}

// retryLater is an answer that makes rota try again.
type retryLater struct{ answer Answer }

func (e *retryLater) Error() string { return fmt.Sprintf("answer is %d", e.answer.Status) }

// response holds the answer of a handler until the transaction has ended.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *response) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}

// answer returns the answer to store. If the work must be rolled back, it returns a *retryLater as the error.
func (r *response) answer() (Answer, error) {
	r.WriteHeader(http.StatusOK)
	header, err := json.Marshal(r.header)
	if err != nil {
		return Answer{}, fmt.Errorf("encode header: %w", err)
	}
	a := Answer{Status: r.status, Header: header, Body: r.body.Bytes()}
	switch {
	case r.status >= 500, r.status == http.StatusRequestTimeout, r.status == http.StatusTooEarly,
		r.status == http.StatusTooManyRequests:
		return Answer{}, &retryLater{a}
	}
	return a, nil
}
