package job

import "errors"

// The errors of a store that callers distinguish. Any other error means that the store itself fails.
var (
	// ErrConflict is returned when a record is no longer at the revision that the writer read, or exists although it should not.
	// Nothing was written. This is a normal result of concurrent writers: read the present record.
	ErrConflict = errors.New("record has changed")
	// ErrNotFound is returned when there is no such record.
	ErrNotFound = errors.New("not found")
	// ErrUnreadable is returned when a record is unreadable, because somebody wrote it by hand or a later version wrote it. Only the
	// revision of the result is valid; a writer can replace the record at it. Reading again does not help.
	ErrUnreadable = errors.New("record is unreadable")
	// ErrTooLarge is returned when a record is too large for the store. Sending it again does not help.
	ErrTooLarge = errors.New("record too large")
	// ErrFull is returned when the store has reached its space quota: it accepts only deletions.
	ErrFull = errors.New("store is out of space")
	// ErrOutcomeUnknown is part of the error of a write that may have taken place, or may still do so.
	ErrOutcomeUnknown = errors.New("outcome unknown")
	// ErrTooMany is returned when too many submitted runs wait already. Nothing was written. The same submission is accepted once
	// fewer wait.
	ErrTooMany = errors.New("too many runs wait")
)
