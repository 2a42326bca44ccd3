// Package job is the vocabulary of rota: jobs, slots, runs, attempts, workers, and the rules by which a run changes.
//
// It holds data and what follows from them: no clock, no context, no logger, no store. What many definitions have in common is
// kept for all of them, so that they need less memory; that changes no answer. All that is stored under rota's prefix in etcd is
// the JSON of its types, but for candidates, takeovers and the era, and the HTTP API shows the same JSON.
//
// # A run's life
//
// A run is the one record of a slot (or of one manual trigger, or of one delayed submission). It is never replaced,
// only moved along these arrows; Run's methods make the moves and refuse every other:
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
//	pending → armed canceled skipped
//	armed   → armed pending running canceled
//	running → pending succeeded failed timed_out canceled lost
//
// A slot is decided when its time has come: its run is armed, waits or is skipped. A leader may arm it ahead of that, while
// nothing stands in its way. A run that is taken back before its time waits for it in state pending, and only then is its
// slot decided: so it may still be skipped.
//
// A terminal state is never left, whoever asks. One write of the record may make two moves: a run that loses its worker
// goes by way of pending to armed with another one.
//
// # Revisions
//
// Job, Cursor, Run and Worker carry Rev, the store revision at which they were read. It is not part of their JSON.
// A writer hands Rev back, and the store refuses the write unless the record is still at that revision; zero means
// "must not exist".
package job
