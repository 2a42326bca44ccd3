package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// newDocument registers the /v1 interface on mux and returns it. huma's page of documentation is off, because it loads scripts
// from the internet.
func newDocument(mux *http.ServeMux, version string, schemas map[string]json.RawMessage) huma.API {
	registry := huma.NewMapRegistry(schemaPrefix, huma.DefaultSchemaNamer)
	registry.RegisterTypeAlias(reflect.TypeFor[job.Duration](), reflect.TypeFor[durationSchema]())
	registry.RegisterTypeAlias(reflect.TypeFor[job.Spec](), reflect.TypeFor[specSchema]())
	registry.RegisterTypeAlias(reflect.TypeFor[job.LimitSpec](), reflect.TypeFor[limitSpecSchema]())
	for name, text := range schemas {
		given := map[string]any{}
		if err := json.Unmarshal(text, &given); err != nil {
			panic(fmt.Sprintf("schema %s: %v", name, err)) // schemas are fixed in the code of the backend; no client can cause this
		}
		registry.Map()[name] = &huma.Schema{Extensions: given}
	}

	format := huma.DefaultJSONFormat
	format.Unmarshal = unmarshal
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "rota",
				Version:     cmp.Or(version, "0"),
				Description: "Cron for more than one machine. Any replica answers; errors are RFC 9457 problems.",
			},
			Components: &huma.Components{Schemas: registry},
		},
		OpenAPIPath:                  "/v1/openapi",
		Formats:                      map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{readableProblems(registry)},
	})
}

// schemaPrefix begins the reference to each schema of the document.
const schemaPrefix = "#/components/schemas/"

// finish completes the document after all operations are registered. Answers may get more fields later, and some of their fields
// may be null. Requests may not have unknown fields, because an unknown field is always a mistake.
func finish(doc huma.API) {
	schemas := doc.OpenAPI().Components.Schemas.Map()
	for name, s := range schemas {
		if !strings.HasSuffix(name, "Request") {
			s.AdditionalProperties = nil
		}
	}
	// Each of these operations has two statuses with the same body.
	alias(doc, "/v1/jobs/{job}/runs", http.StatusCreated, http.StatusOK)
	alias(doc, "/v1/runs", http.StatusCreated, http.StatusOK)
	nullable(schemas["JobView"], "last", "paused")
	nullable(schemas["ClusterView"], "leader", "paused")
	nullable(schemas["GateView"], "paused")
	enumerate(schemas["RunView"], "state", job.States())
	enumerate(schemas["LastRun"], "state", job.States())
	enumerate(schemas["Event"], "kind", Kinds())
}

// enumerate sets the allowed values of a string property. It ignores a nil schema, which means that the document does not have
// it.
func enumerate[T ~string](s *huma.Schema, property string, values []T) {
	if s == nil {
		return
	}
	p := s.Properties[property]
	p.Enum = nil
	for _, v := range values {
		p.Enum = append(p.Enum, string(v))
	}
	p.PrecomputeMessages()
}

// alias adds a second status to the PUT or POST of a path.
func alias(doc huma.API, path string, status, second int) {
	item := doc.OpenAPI().Paths[path]
	if item == nil {
		return
	}
	for _, op := range []*huma.Operation{item.Put, item.Post} {
		if op != nil {
			twin := *op.Responses[strconv.Itoa(status)]
			twin.Description = http.StatusText(second)
			op.Responses[strconv.Itoa(second)] = &twin
		}
	}
}

func nullable(s *huma.Schema, properties ...string) {
	if s == nil {
		return
	}
	for _, name := range properties {
		p := s.Properties[name]
		s.Properties[name] = &huma.Schema{
			Description: p.Description,
			AnyOf:       []*huma.Schema{{Ref: p.Ref}, {Type: "null"}},
		}
	}
}

// fields returns the names of the fields of the body that op accepts.
func fields(op *huma.Operation, registry huma.Registry) []string {
	if op == nil || op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	s := op.RequestBody.Content["application/json"].Schema
	if s != nil && s.Ref != "" {
		s = registry.SchemaFromRef(s.Ref)
	}
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// durationSchema stands for job.Duration in the document.
type durationSchema struct{}

// Schema implements huma.SchemaProvider.
func (durationSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type:               huma.TypeString,
		Description:        "A number with a unit: 90s, 1h30m",
		Pattern:            job.DurationPattern,
		PatternDescription: "a number with a unit, for example 30s",
		Examples:           []any{"1h30m"},
	}
}

// specSchema and limitSpecSchema stand for job.Spec and job.LimitSpec in the document. The Backend provides their schemas.
type (
	specSchema      struct{}
	limitSpecSchema struct{}
)

// Schema implements huma.SchemaProvider.
func (specSchema) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Ref: schemaPrefix + "Spec"} }

// Schema implements huma.SchemaProvider.
func (limitSpecSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: schemaPrefix + "LimitSpec"}
}

// operation describes one endpoint.
type operation struct {
	id, method, path, summary string
	status                    int           // status of success; 0: 200
	errors                    []int         // statuses of errors, besides those of every operation
	parameter                 string        // parameter of the path that the handler reads itself; empty for none
	right                     auth.Right    // the right that the caller needs
	bodyDecides               bool          // the handler checks the right, which depends on the body; see Server.require
	timeout                   time.Duration // of the request; 0: that of ordinary requests
	walks                     bool          // it visits all jobs or runs; see Server.walk
	peers                     bool          // replicas and workers do not need this right, because they call on behalf of a client
}

func (s *Server) operation(doc huma.API, o operation) huma.Operation {
	s.rights[o.id] = o.right
	if o.right != auth.Anyone {
		s.closed[o.method+" "+o.path] = true
	}
	op := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, Summary: o.summary, DefaultStatus: o.status,
		Errors: append([]int{
			http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		}, o.errors...),
		Middlewares: huma.Middlewares{s.authorized(doc, o), s.audited(o)},
		// takeBody has already read and limited the body.
		MaxBodyBytes: -1, BodyReadTimeout: -1,
	}
	if o.parameter != "" {
		op.Parameters = []*huma.Param{{Name: o.parameter, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return op
}

// register adds an operation that ends within its timeout. A long operation also ends when the server stops.
func register[I, O any](s *Server, doc huma.API, o operation, handle func(context.Context, *I) (*O, error)) {
	huma.Register(doc, s.operation(doc, o), func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.timeout, s.cfg.RequestTimeout))
		defer cancel()
		if o.timeout > 0 {
			extend(ctx, o.timeout)
			defer context.AfterFunc(s.stopping, cancel)()
		}
		if o.walks {
			leave, err := s.walk(ctx)
			if err != nil {
				return nil, err
			}
			defer leave()
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.answer(ctx, o.id, err)
		}
		return out, nil
	})
}

// answer returns the problem that a client gets for err. It logs a 500, because only developers of rota can correct its cause.
func (s *Server) answer(ctx context.Context, operation string, err error) error {
	p := problem(err, false)
	if se, ok := errors.AsType[huma.StatusError](p); ok && se.GetStatus() == http.StatusInternalServerError {
		s.log.Error("request failed", "operation", operation, "by", caller(ctx), "err", err)
	}
	return p
}
