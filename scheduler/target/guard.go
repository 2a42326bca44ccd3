package target

import (
	"context"
	"database/sql"
	_ "embed" // Schema is a file, so that other programs can also execute it
	"errors"
	"fmt"
	"time"
)

// Schema makes the tables and the function that a Guard uses. It can be executed again.
//
//go:embed schema.sql
var Schema string

// ErrStale is returned for an attempt if the target has met a higher token in the same scope. The attempt must not be repeated,
// because rota has given its run to another attempt.
var ErrStale = errors.New("a newer attempt was here: this one is too late")

// Call has the data that an attempt sends to its target.
type Call struct {
	Scope string // attempts of one scope wait for each other; after a newer one, older ones are refused
	Token int64  // the fencing token
	Key   string // the idempotency key
}

// Answer is the result of the work. A repetition of the same key gets the same Answer.
type Answer struct {
	Status int    // HTTP status; 0 for work without one
	Header []byte // in the encoding of the caller
	Body   []byte
}

// Guard does work at most once for each key. It is safe for concurrent use.
type Guard struct {
	db *sql.DB
}

// New returns a Guard that uses a PostgreSQL database with Schema.
func New(db *sql.DB) *Guard { return &Guard{db: db} }

// Do does the work of a call within a transaction. If the work was done before, Do returns the first answer, and repeated is
// true. While another attempt of the same scope is at work, Do waits until ctx ends.
//
// If work returns an error, Do rolls its effects back and returns the error, and the next attempt does the work. The newer token
// stays recorded, so that older attempts are still refused. After an error of the database, it is unknown whether the work was
// committed; the next attempt with the same key finds out.
func (g *Guard) Do(
	ctx context.Context, c Call, work func(ctx context.Context, tx *sql.Tx) (Answer, error),
) (answer Answer, repeated bool, err error) {
	if c.Scope == "" || c.Token <= 0 || c.Key == "" {
		return Answer{}, false, fmt.Errorf("guard call: scope, token and key are all needed, got %q, %d, %q", c.Scope, c.Token, c.Key)
	}
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return Answer{}, false, fmt.Errorf("begin guarded work: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing, and a broken connection rolls back by itself
	var stale bool
	var status sql.NullInt64
	err = tx.QueryRowContext(ctx, `SELECT stale, answered, status, header, body FROM rota_enter($1, $2, $3)`, c.Scope, c.Token, c.Key).
		Scan(&stale, &repeated, &status, &answer.Header, &answer.Body)
	switch {
	case err != nil:
		return Answer{}, false, fmt.Errorf("enter guarded work: %w", err)
	case stale:
		return Answer{}, false, ErrStale
	case repeated:
		answer.Status = int(status.Int64)
		return answer, true, commit(tx)
	}
	if _, err := tx.ExecContext(ctx, `SAVEPOINT rota_work`); err != nil {
		return Answer{}, false, fmt.Errorf("begin guarded work: %w", err)
	}
	answer, failed := work(ctx, tx)
	if failed != nil {
		if _, err := tx.ExecContext(ctx, `ROLLBACK TO SAVEPOINT rota_work`); err != nil {
			return Answer{}, false, errors.Join(failed, fmt.Errorf("undo guarded work: %w", err))
		}
		return Answer{}, false, errors.Join(failed, commit(tx)) // commits only the token
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO rota_answers (key, status, header, body) VALUES ($1, $2, $3, $4)`,
		c.Key, answer.Status, notNil(answer.Header), notNil(answer.Body))
	if err != nil {
		return Answer{}, false, fmt.Errorf("keep answer: %w", err)
	}
	return answer, false, commit(tx)
}

// Prune removes answers that are older than age. age must be longer than the time for which rota retries a run; a day is usually
// enough.
func (g *Guard) Prune(ctx context.Context, age time.Duration) error {
	_, err := g.db.ExecContext(ctx, `DELETE FROM rota_answers WHERE created < now() - make_interval(secs => $1)`, age.Seconds())
	if err != nil {
		return fmt.Errorf("prune answers: %w", err)
	}
	return nil
}

func commit(tx *sql.Tx) error {
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit guarded work: %w", err)
	}
	return nil
}

// notNil returns an empty value for nil, because the columns do not allow null.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
