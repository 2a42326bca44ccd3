package target

import (
	"context"
	"database/sql"
	_ "embed" // Schema is a file, so that other programs can execute it
	"errors"
	"fmt"
	"time"
)

// Schema makes the tables and the function that a Guard uses. It can be executed again.
//
//go:embed schema.sql
var Schema string

// ErrStale is returned for an attempt whose token is lower than one that the target has met in the same scope. The attempt must
// not be tried again; rota has given its run to another attempt.
var ErrStale = errors.New("a newer attempt was here: this one is too late")

// Call is what an attempt shows to its target.
type Call struct {
	Scope string // attempts of one scope wait for each other, and a newer one shuts out the older ones
	Token int64  // the fencing token
	Key   string // the idempotency key
}

// Answer is what the work resulted in. A repetition of the same key gets it again.
type Answer struct {
	Status int    // of HTTP; 0 for work that has none
	Header []byte // as the caller encodes it
	Body   []byte
}

// Guard does work at most once for each key. It is safe for concurrent use.
type Guard struct {
	db *sql.DB
}

// New returns a guard in a PostgreSQL database that has Schema.
func New(db *sql.DB) *Guard { return &Guard{db: db} }

// Do does the work of a call within a transaction, unless it was done before. Then it returns the first answer, and repeated
// is true. It waits while another attempt of the same scope is at work; ctx bounds that.
//
// If work returns an error, its effects are undone, the error is returned, and the next attempt does the work. The newer token
// stays, so that older attempts remain shut out. An error of the database leaves open whether the work was committed; the next
// attempt with the same key finds out.
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
		return Answer{}, false, errors.Join(failed, commit(tx)) // of the token alone
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO rota_answers (key, status, header, body) VALUES ($1, $2, $3, $4)`,
		c.Key, answer.Status, notNil(answer.Header), notNil(answer.Body))
	if err != nil {
		return Answer{}, false, fmt.Errorf("keep answer: %w", err)
	}
	return answer, false, commit(tx)
}

// Prune forgets answers that are older than age. Choose an age beyond the time for which rota retries a run: a day as a rule.
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

// notNil makes an empty value of a missing one: the columns hold no null.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
