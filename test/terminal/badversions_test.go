package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// olderThan serves a cluster as a version would that knows only health and the paths of the cluster's processes.
func olderThan(t *testing.T, at string) string {
	return changed(t, at, func(r *http.Response) error {
		if !strings.HasPrefix(r.Request.URL.Path, "/v1/") {
			return nil
		}
		r.StatusCode = http.StatusNotFound
		r.Header.Set("Content-Type", "application/problem+json")
		replace(r, []byte(`{"status":404,"title":"Not Found","detail":"nothing here: /v1/openapi.json lists all paths"}`))
		return nil
	})
}

// newer serves a cluster as a later version would: each object has a field more, and runs and events have unknown values.
func newer(t *testing.T, at string) string {
	return changed(t, at, func(r *http.Response) error {
		if r.Header.Get("Content-Type") != "application/json" {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		var document any
		if err := json.Unmarshal(text, &document); err != nil {
			return err
		}
		if text, err = json.Marshal(later(document)); err != nil {
			return err
		}
		replace(r, text)
		return nil
	})
}

func later(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = later(v[i])
		}
	case map[string]any:
		counts := true // a map of numbers, and not an object
		for _, key := range slices.Collect(maps.Keys(v)) {
			v[key] = later(v[key])
			_, number := v[key].(float64)
			counts = counts && number
		}
		if counts {
			return v
		}
		for _, key := range []string{"state", "kind", "trigger"} {
			if _, text := v[key].(string); text {
				v[key] = "hibernated"
			}
		}
		v["novelty"] = map[string]any{"deep": []any{1, "two"}}
	}
	return v
}

// changed serves a replica with changed answers.
func changed(t *testing.T, at string, change func(*http.Response) error) string {
	t.Helper()
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, ModifyResponse: change}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

func replace(r *http.Response, body []byte) {
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}
