package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// maxAnswer is the size of the largest answer that is read, in bytes.
const maxAnswer = 256 << 20

// fetch sends the request and decodes the answer.
func fetch[T any](ctx context.Context, c *Client, q call) (v T, status int, err error) {
	res, err := c.do(ctx, q)
	if err != nil {
		return v, 0, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		return v, res.StatusCode, nil
	}
	if !hasType(res, "application/json") {
		return v, 0, foreign(res)
	}
	err = json.NewDecoder(res.Body).Decode(&v)
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return v, 0, newer(res, other)
	}
	if err != nil {
		return v, 0, fmt.Errorf("read answer to %s %s: %w", q.method, q.path, err)
	}
	if !complete(v) {
		return v, 0, foreign(res)
	}
	return v, res.StatusCode, nil
}

// complete reports whether an answer has the fields that every answer of rota has. Callers rely on these fields.
func complete(answer any) bool {
	switch v := answer.(type) {
	case api.JobView:
		return v.Spec != nil
	case api.JobList:
		return !slices.ContainsFunc(v.Jobs, func(j api.JobView) bool { return j.Spec == nil })
	case api.RunView:
		return v.Ref != ""
	case api.TokenView:
		return v.ID != ""
	case struct{}: // rota answers with 204
		return false
	}
	return true
}

// result is fetch without the status.
func result[T any](ctx context.Context, c *Client, q call) (T, error) {
	v, _, err := fetch[T](ctx, c, q)
	return v, err
}

// get sends a request that reads, and decodes the answer.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	return result[T](ctx, c, call{method: http.MethodGet, path: path, query: query})
}

// parameters returns the parameters of a request that have a value. pairs are names, each before its value.
func parameters(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// number returns a number as the value of a parameter; "" if it is not above 0.
func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// instant returns a time as the value of a parameter; "" for the zero time.
func instant(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}
