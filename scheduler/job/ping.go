package job

// Ping says where pings about the runs of a job go: to a service that alarms when they stay away.
type Ping struct {
	URL     string      `json:"url"`               // ${env:} and ${file:} are resolved on the leader, never stored
	Service PingService `json:"service,omitempty"` // whose form the pings have; "": Healthchecks
}

// PingService is a service that gets pings. It decides about their form.
type PingService string

// The services for pings.
const (
	Healthchecks   PingService = "healthchecks" // healthchecks.io, hosted or not
	Cronitor       PingService = "cronitor"
	DeadMansSnitch PingService = "deadmanssnitch"
	UptimeKuma     PingService = "uptimekuma"
)

// PingServices lists every PingService.
func PingServices() []PingService {
	return []PingService{Healthchecks, Cronitor, DeadMansSnitch, UptimeKuma}
}

// PingState is what a ping reports about a run.
type PingState string

// The states of pings. A run that is skipped or canceled sends none, so that the service alarms.
const (
	PingStart   PingState = "start"
	PingSuccess PingState = "success"
	PingFailure PingState = "failure" // failed, timed out or lost, after all retries
)

// PingState returns what a ping reports about the run; "" for nothing. A run on every worker has one ping, and its copies none.
func (r *Run) PingState() PingState {
	if r.Kind == KindCopy {
		return ""
	}
	switch {
	case r.State == Running:
		return PingStart
	case r.State == Succeeded:
		return PingSuccess
	case r.State.IsFailure():
		return PingFailure
	}
	return ""
}

// Reports reports whether the runs of the job are reported to anybody, by messages or pings.
func (s *Spec) Reports() bool { return len(s.Notify) > 0 || s.Ping != nil }
