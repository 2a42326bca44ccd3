package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/rota-scheduler/rota/scheduler/api"
)

// FuzzBodies sends bodies to the routes that take one. The answer to any body is a success or names a mistake of
// the caller. It is never an error of the server.
func FuzzBodies(f *testing.F) {
	routes := []string{
		"PUT /v1/jobs/new", "PUT /v1/limits/new", "POST /v1/jobs/backup/runs", "POST /v1/runs", "POST /v1/jobs/backup/pause",
		"POST /v1/jobs/backup/resume",
	}
	for i := range routes {
		for _, body := range []string{
			spec, `{"concurrent":1,"rate":"10/s"}`, `{"payload":{"a":[1,null,"x"]},"in":"5m"}`, `{"at":"2026-02-30T00:00:00Z"}`,
			`{"command":["true"]}`, `{"reason":"` + strings.Repeat("é", 300) + `"}`, `{"a":1,"a":2}`, `[`, ``, "\x00",
		} {
			f.Add(uint8(i), body)
		}
	}
	handler := api.New(api.DefaultConfig(), newFake().backend(), hclog.NewNullLogger()).Handler()
	f.Fuzz(func(t *testing.T, route uint8, body string) {
		method, path, _ := strings.Cut(routes[int(route)%len(routes)], " ")
		req := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		res := answer.Result()
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode >= http.StatusInternalServerError && res.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s %s with %q: got %d: %s", method, path, body, res.StatusCode, text)
		}
	})
}
