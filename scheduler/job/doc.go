// Package job is the vocabulary of rota: jobs, slots, runs, attempts, workers, with the rules by which a run changes.
//
// It holds data and rules about it, without a clock, context, logger or store. Everything that rota stores in etcd is
// the JSON of these types, except candidates, takeovers and the era. The HTTP API shows the same JSON. Definitions with
// equal parts share memory for them; that changes no result.
//
// # A run's life
//
// A run is the only record of a slot, of a manual trigger or of a delayed submission. It only makes these transitions.
// Run's methods make them, and refuse every other:
//
//	            ┌───────── retry, worker lost or stopped ─────────┐
//	            ▼                                                 │
//	(slot) ─► pending ──assign──► armed ──claim──► running ───────┤
//	   │        │  ▲                │                             │
//	   │        │  └─ recall, ──────┤                             ▼
//	   │        │     worker lost   │                 succeeded failed timed_out
//	   │        ├──────cancel───────┴─────────────►   canceled  lost   skipped
//	   └────────┴──────skip───────────────────────────────────────────────▲
//
// In full:
//
//	(none)  → pending armed skipped
//	pending → armed canceled skipped succeeded failed
//	armed   → armed pending running canceled
//	running → pending succeeded failed timed_out canceled lost
//
// A slot is decided at its time: its run is armed, waits or is skipped. A leader may arm a run ahead of its time if
// nothing blocks it. A run that is recalled before its time becomes pending. Its slot is then decided at its time, and
// the run may still be skipped. A run on every worker is pending until its copies on the workers have all ended.
//
// A run never leaves a terminal state. One write of the record may make two transitions: a run that loses its worker
// goes through pending to armed with another worker.
//
// # Revisions
//
// Records carry Rev, the store revision at which they were read. It is not part of their JSON. A writer passes Rev
// back, and the store refuses the write unless the record is still at that revision. Zero means that the record must
// not exist.
package job
