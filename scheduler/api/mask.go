package api

import (
	"context"
	"encoding/json"

	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// Mask stands in answers for a value that the caller may not see.
const Mask = "***"

// masked replaces values that may be secrets, if the caller has no right to define the job.
func (s *Server) masked(ctx context.Context, name string, from *job.Spec) *job.Spec {
	if from == nil || s.cfg.Observe || proven(ctx).May(auth.Define, s.object(name)) {
		return from
	}
	return MaskSpec(from)
}

// MaskSpec returns a definition as a caller sees it who may not define the job: without values that may be secrets.
func MaskSpec(from *job.Spec) *job.Spec {
	spec := *from
	spec.Env = maskValues(spec.Env)
	if spec.HTTP != nil {
		h := *spec.HTTP
		h.Headers = maskValues(h.Headers)
		spec.HTTP = &h
	}
	if len(spec.Notify) > 0 {
		notify := make(job.Notify, len(spec.Notify))
		for name, n := range spec.Notify {
			n.URL = Mask
			notify[name] = n
		}
		spec.Notify = notify
	}
	if spec.Ping != nil {
		ping := *spec.Ping
		ping.URL = Mask
		spec.Ping = &ping
	}
	return &spec
}

// maskEvent masks the record in an event, in the same way as the answers about single records.
func (s *Server) maskEvent(ctx context.Context, e *Event) {
	if s.cfg.Observe || proven(ctx).May(auth.Define, auth.Object{}) || len(e.Value) == 0 {
		return
	}
	var shown any
	switch e.Kind {
	case KindJob:
		var v JobView
		if json.Unmarshal(e.Value, &v) == nil {
			v.Spec = s.masked(ctx, v.Name, v.Spec)
			shown = v
		}
	case KindRun:
		var v RunView
		if json.Unmarshal(e.Value, &v) == nil {
			shown = s.maskedRun(ctx, v)
		}
	case KindAudit:
		var v AuditView
		if json.Unmarshal(e.Value, &v) == nil {
			v.Audit = s.maskedAudit(ctx, v.Audit)
			shown = v
		}
	case KindReplica:
		if s.sees(ctx) == nil {
			return
		}
		var v ReplicaView
		if json.Unmarshal(e.Value, &v) == nil {
			v.hideJobs()
			shown = v
		}
	default:
		return
	}
	text, err := json.Marshal(shown)
	if err != nil || shown == nil {
		text = nil // no value is better than an unmasked one
	}
	e.Value = text
}

func maskValues(values map[string]string) map[string]string {
	if len(values) == 0 {
		return values
	}
	shown := make(map[string]string, len(values))
	for name := range values {
		shown[name] = Mask
	}
	return shown
}
