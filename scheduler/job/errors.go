package job

import "errors"

// The answers that callers of a store tell apart. Everything else is trouble with the store itself.
var (
	// ErrConflict is returned when a record is no longer at the revision that the writer read, or exists where it
	// should not. Losing a race is a normal outcome: nothing was written, look at the record as it stands.
	ErrConflict = errors.New("record has changed")
	// ErrNotFound is returned when there is no such record.
	ErrNotFound = errors.New("not found")
	// ErrUnreadable is returned when there is a record, but nobody can read it: a hand put it there, or a later version did. What
	// comes with it has nothing but its revision, at which it can be replaced. Asking again does not help.
	ErrUnreadable = errors.New("record is unreadable")
	// ErrTooLarge is returned when a record is too large for the store. Sending it again does not help.
	ErrTooLarge = errors.New("record too large")
	// ErrFull is returned when the store has reached its space quota: it takes deletions, but nothing new.
	ErrFull = errors.New("store is out of space")
)
