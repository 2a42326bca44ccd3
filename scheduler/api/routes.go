package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
)

// routes returns the handler of all paths. /v1 has its own mux, because only requests to /v1 have a body or a key.
func (s *Server) routes() http.Handler {
	v1, root := http.NewServeMux(), http.NewServeMux()
	doc := newDocument(v1, s.cfg.Version.Version, s.back.Schemas)
	if s.back.Replica != nil {
		s.registerReads(doc)
		s.registerTimeline(doc)
		s.registerWrites(doc)
		s.registerApprovals(doc)
		s.registerBackfills(doc)
		s.registerDefinitions(doc)
		s.registerWorkflows(doc)
		s.registerLoginCodes(doc)
		s.registerSignIn(doc)
		s.registerOverview(doc)
		s.registerGantt(doc)
		s.registerMonth(doc)
	}
	s.registerImport(doc)
	s.registerExaminations(doc)
	s.registerHooks(doc)
	s.registerRestore(doc)
	s.registerAudit(doc)
	s.registerTokens(doc)
	s.registerStreams(doc)
	finish(doc)
	s.v1 = v1

	s.registerHealth(root)
	root.HandleFunc("GET /version", s.version)
	if s.back.Clock != nil {
		root.HandleFunc("GET /clock", s.clock)
	}
	if s.back.Metrics != nil {
		root.Handle("GET "+metricsPath, s.metrics())
	}

	if s.back.Replica != nil {
		s.registerLogin(root)
	}

	handleV1 := showEmpty(s.knownPaths(v1))
	interfaces := s.sameSite(s.limited(s.bounded(s.takeBody(s.singleFields(handleV1)))))
	others := s.sameSite(s.limited(s.bounded(s.takeBody(s.knownPaths(root)))))
	if s.cfg.Page != nil && s.back.Replica != nil {
		s.page = s.signedIn(s.withTurns(s.cfg.Page(&operations{s, handleV1})))
	}
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/") {
			w.Header().Set("Cache-Control", "no-store")
			s.sayAge(w)
			s.sayReplicas(w, r)
			interfaces.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
	return showSocket(s.recoverPanics(s.knownHost(s.singleHeaders(s.authenticate(s.readsLimited(all))))))
}

// knownPaths answers with a problem if mux does not have the path or the method of a request.
func (s *Server) knownPaths(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "" {
				allowed = append(allowed, method)
			}
		}
		switch {
		case len(allowed) == 0 && s.handlesPage(r):
			s.page.ServeHTTP(w, r)
		case len(allowed) > 0:
			allow := strings.Join(allowed, ", ")
			w.Header().Set("Allow", strings.Replace(allow, http.MethodGet, "GET, HEAD", 1)) // the operations of GET also answer HEAD
			writeProblem(w, http.StatusMethodNotAllowed,
				fmt.Sprintf("%s is not possible here: use %s", r.Method, strings.Join(allowed, " or ")))
		case s.back.Replica == nil:
			writeProblem(w, http.StatusNotFound,
				"this process is a worker, which serves logs, health and metrics; ask a replica")
		default:
			writeProblem(w, http.StatusNotFound, NoSuchPath+": /v1/openapi.json lists all paths")
		}
	})
}

const metricsPath = "/metrics"

// metrics serves the metrics only to callers that may see all jobs, because metrics contain names of jobs.
func (s *Server) metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.sees(r.Context()) != nil {
			status, detail := http.StatusForbidden, "metrics name all jobs: a role without a scope is needed"
			if proven(r.Context()).Anonymous() {
				status, detail = http.StatusUnauthorized, whoAreYou
				w.Header().Set("WWW-Authenticate", challenge)
			}
			s.countRefusal(status)
			writeProblem(w, status, detail)
			return
		}
		s.back.Metrics.ServeHTTP(w, r)
	})
}

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	v := s.cfg.Version
	if v.Go == "" {
		v.Go = runtime.Version()
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func (s *Server) registerReads(doc huma.API) {
	register(s, doc, operation{
		id: "read-cluster", right: auth.Read, method: "GET", path: "/v1/cluster",
		summary: "The cluster",
	}, s.readCluster)
	register(s, doc, operation{
		id: "list-jobs", right: auth.Read, walks: true, method: "GET", path: "/v1/jobs",
		summary: "All jobs",
	}, s.readJobs)
	register(s, doc, operation{
		id: "read-job", right: auth.Read, method: "GET", path: "/v1/jobs/{job}",
		summary: "A job", errors: []int{404, 409},
	}, s.readJob)
	register(s, doc, operation{
		id: "list-limits", right: auth.Read, walks: true, method: "GET", path: "/v1/limits",
		summary: "All cluster-wide limits",
	}, s.readLimits)
	register(s, doc, operation{
		id: "list-runs", right: auth.Read, walks: true, method: "GET", path: "/v1/runs",
		summary: "Runs, latest first", errors: []int{404},
	}, s.readRuns)
	register(s, doc, operation{
		id: "read-run", right: auth.Read, method: "GET", path: "/v1/runs/{job}/{slot}",
		summary: "A run", errors: []int{404, 409},
	}, s.readRun)
	register(s, doc, operation{
		id: "list-workers", right: auth.Read, walks: true, method: "GET", path: "/v1/workers",
		summary: "All workers",
	}, s.readWorkers)
	register(s, doc, operation{
		id: "next-slots", right: auth.Read, method: "GET", path: "/v1/jobs/{job}/next",
		summary: "The slots to come", errors: []int{404, 409},
	}, s.readNext)
	register(s, doc, operation{
		id: "explain-slot", right: auth.Read, method: "GET", path: "/v1/jobs/{job}/explain",
		summary: "Why a slot ran, ran late, or did not run", errors: []int{404, 409},
	}, s.readExplain)
}

func (s *Server) registerWrites(doc huma.API) {
	register(s, doc, operation{
		id: "pause-job", right: auth.Operate, method: "POST", path: "/v1/jobs/{job}/pause",
		summary: "Pause a job", errors: []int{403, 404, 409},
	}, s.pauseJob)
	register(s, doc, operation{
		id: "resume-job", right: auth.Operate, method: "POST", path: "/v1/jobs/{job}/resume",
		summary: "Resume a job", errors: []int{403, 404, 409},
	}, s.resumeJob)
	register(s, doc, operation{
		id: "pause-all", right: auth.Admin, method: "POST", path: "/v1/pause",
		summary: "Pause all jobs", errors: []int{403, 409},
	}, s.pauseAll)
	register(s, doc, operation{
		id: "resume-all", right: auth.Admin, method: "POST", path: "/v1/resume",
		summary: "Resume all jobs", errors: []int{403, 409},
	}, s.resumeAll)
	register(s, doc, operation{
		id: "submit-run", right: auth.Operate, method: "POST", path: "/v1/jobs/{job}/runs",
		summary: "Run a job now or later; 200 if the key was used before", status: 201, errors: []int{403, 404, 409, 413, 507},
	}, s.submitRun)
	register(s, doc, operation{
		id: "submit-command", right: auth.DefineCommand, method: "POST", path: "/v1/runs",
		summary: "Run a command now or later; 200 if the key was used before", status: 201, errors: []int{403, 409, 413, 507},
	}, s.submitAdHoc)
	register(s, doc, operation{
		id: "cancel-run", right: auth.Operate, method: "POST", path: "/v1/runs/{job}/{slot}/cancel",
		summary: "Ask for the end of a run", errors: []int{403, 404, 409},
	}, s.cancelRun)
	register(s, doc, operation{
		id: "retry-run", right: auth.Operate, method: "POST", path: "/v1/runs/{job}/{slot}/retry",
		summary: "Repeat an ended run as a new run; 200 if the key was used before", status: 201, errors: []int{403, 404, 409, 507},
	}, s.retryRun)
}

func (s *Server) registerRestore(doc huma.API) {
	if s.back.Restorer == nil {
		return
	}
	register(s, doc, operation{
		id: "accept-restored-store", right: auth.Admin, method: "POST", path: "/v1/accept-restored-store",
		summary: "Accept a store that was restored from a backup", errors: []int{403, 409, 507},
	}, s.acceptRestored)
}

func (s *Server) registerStreams(doc huma.API) {
	if s.back.Logs != nil {
		o := operation{
			id: "read-logs", right: auth.Read, peers: true, method: "GET", path: "/v1/runs/{job}/{slot}/logs",
			summary: "The output of an attempt", errors: []int{404, 409},
		}
		huma.Register(doc, s.streaming(doc, o, "text/plain", "The output, byte for byte"), s.readLogs)
	}
	if s.back.Events != nil {
		o := operation{
			id: "watch-events", right: auth.Read, method: "GET", path: "/v1/events",
			summary: "The changes of the store, as server-sent events",
		}
		const description = "Each event's data is an Event in JSON, its id the store revision"
		huma.Register(doc, s.streaming(doc, o, "text/event-stream", description), s.watchEvents)
		doc.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Event](), true, "")
	}
}
