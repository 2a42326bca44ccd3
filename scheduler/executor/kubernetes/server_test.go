package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor/kubernetes"
	"github.com/rota-scheduler/rota/scheduler/kubeapi"
	"github.com/rota-scheduler/rota/test/files"
)

// server is an API server with one namespace. A Job has a pod at once, whose state a test sets.
type server struct {
	mu      sync.Mutex
	jobs    map[string]map[string]any // guarded by mu
	pods    map[string]map[string]any // guarded by mu, by the name of the Job
	secrets map[string]map[string]any // guarded by mu
	created int                       // guarded by mu: Jobs
	away    bool                      // guarded by mu: connections break
	suspend bool                      // another program suspends new Jobs
	state   map[string]any            // guarded by mu: the status of new pods
	log     string                    // guarded by mu
	seen    func(call string)         // called with the method and path of each call, under mu; nil: nothing
	api     *kubeapi.Client
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// count returns how many Jobs were created.
func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.created
}

// left returns the number of Jobs.
func (s *server) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.jobs)
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen != nil {
		s.seen(r.Method + " " + r.URL.Path)
	}
	if s.away {
		panic(http.ErrAbortHandler)
	}
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/batch"), "/api"), "/")
	if parts[3] != "jobs-ns" {
		answer(w, http.StatusNotFound, map[string]any{"kind": "Status", "message": "namespaces not found"})
		return
	}
	name := ""
	if len(parts) > 5 {
		name = parts[5]
	}
	switch kind := r.Method + " " + parts[4]; kind {
	case "POST jobs":
		name = body["metadata"].(map[string]any)["name"].(string)
		if s.jobs[name] != nil {
			answer(w, http.StatusConflict, map[string]any{"message": "exists"})
			return
		}
		body["metadata"].(map[string]any)["uid"] = "uid-" + name
		s.jobs[name] = body
		s.created++
		if s.suspend {
			body["spec"].(map[string]any)["suspend"] = true
		}
		if body["spec"].(map[string]any)["suspend"] != true {
			s.begin(name)
		}
		answer(w, http.StatusCreated, body)
	case "GET jobs":
		if name == "" {
			limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			var items []any
			next, last := "", ""
			for _, j := range slices.Sorted(maps.Keys(s.jobs)) {
				if len(items) == limit && limit > 0 {
					next = last
					break
				}
				if j > r.URL.Query().Get("continue") {
					items, last = append(items, s.jobs[j]), j
				}
			}
			answer(w, http.StatusOK, map[string]any{"items": items, "metadata": map[string]any{"continue": next}})
			return
		}
		s.find(w, s.jobs[name])
	case "PATCH jobs":
		s.jobs[name]["spec"].(map[string]any)["suspend"] = false
		s.begin(name)
		s.find(w, s.jobs[name])
	case "DELETE jobs":
		s.find(w, s.jobs[name])
		if s.jobs[name] != nil {
			delete(s.pods, name)
		}
		delete(s.jobs, name)
	case "POST secrets":
		name = body["metadata"].(map[string]any)["name"].(string)
		s.secrets[name] = body
		answer(w, http.StatusCreated, body)
	case "GET pods":
		if len(parts) > 6 { // the log
			fmt.Fprint(w, s.log)
			return
		}
		var items []any
		selected := strings.TrimPrefix(r.URL.Query().Get("labelSelector"), "job-name=")
		for _, owner := range slices.Sorted(maps.Keys(s.pods)) {
			if owner == selected || strings.HasPrefix(selected, "rota/run-hash=") { // all tests have one run
				items = append(items, s.pods[owner])
			}
		}
		answer(w, http.StatusOK, map[string]any{"items": items})
	default:
		answer(w, http.StatusMethodNotAllowed, map[string]any{"message": kind})
	}
}

func (s *server) begin(name string) {
	s.pods[name] = map[string]any{
		"metadata": map[string]any{"name": name + "-pod", "labels": map[string]any{"job-name": name}}, "status": s.state,
	}
}

func (s *server) find(w http.ResponseWriter, o map[string]any) {
	if o == nil {
		answer(w, http.StatusNotFound, map[string]any{"kind": "Status", "message": "not found"})
		return
	}
	answer(w, http.StatusOK, o)
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func running() map[string]any {
	return map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{"name": "job", "state": map[string]any{"running": map[string]any{}}}}}
}

func exited(code int) map[string]any {
	phase := "Succeeded"
	if code != 0 {
		phase = "Failed"
	}
	return map[string]any{"phase": phase, "containerStatuses": []any{map[string]any{
		"name": "job", "state": map[string]any{"terminated": map[string]any{"exitCode": code, "reason": "Error"}},
	}}}
}

func waiting(reason, message string) map[string]any {
	return map[string]any{"phase": "Pending", "containerStatuses": []any{map[string]any{
		"name": "job", "image": "report:7", "state": map[string]any{"waiting": map[string]any{"reason": reason, "message": message}},
	}}}
}

// newServer returns a server whose pods have a state, and an executor that uses it.
func newServer(t *testing.T, state map[string]any) (*server, *kubernetes.Executor) {
	t.Helper()
	s := &server{
		jobs: map[string]map[string]any{}, pods: map[string]map[string]any{}, secrets: map[string]map[string]any{}, state: state,
		log: "2026-11-21T02:30:00.1Z hello\n2026-11-21T02:30:00.2Z world\n",
	}
	http := httptest.NewServer(s)
	t.Cleanup(http.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u, namespace: jobs-ns}}]\n"+
		"clusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {token: t}}]\n", http.URL)
	files.Write(t, path, config)
	api, err := kubeapi.FromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	s.api = api
	return s, kubernetes.New(kubernetes.Config{API: api, Namespaces: []string{"jobs-ns", "absent"}}, time.Now)
}
