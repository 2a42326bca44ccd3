package target_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/target"
)

// work records an effect of a call.
func work(c target.Call) func(context.Context, *sql.Tx) (target.Answer, error) {
	return func(ctx context.Context, tx *sql.Tx) (target.Answer, error) {
		_, err := tx.ExecContext(ctx, `INSERT INTO effects (run, token) VALUES ($1, $2)`, c.Key, c.Token)
		return target.Answer{Status: 200, Body: fmt.Appendf(nil, "by %d", c.Token)}, err
	}
}

func count(t *testing.T, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestARepetitionGetsTheFirstAnswer(t *testing.T) {
	db := database(t)
	g := target.New(db)
	first := target.Call{Scope: "pay", Token: 5, Key: "pay/1"}
	again := target.Call{Scope: "pay", Token: 9, Key: "pay/1"}
	late := target.Call{Scope: "pay", Token: 5, Key: "pay/1"}
	if a, repeated, err := g.Do(t.Context(), first, work(first)); err != nil || repeated || string(a.Body) != "by 5" {
		t.Fatalf("the first attempt: %s, %v, %v", a.Body, repeated, err)
	}
	if a, repeated, err := g.Do(t.Context(), again, work(again)); err != nil || !repeated || string(a.Body) != "by 5" || a.Status != 200 {
		t.Errorf("the next attempt: %s, %v, %v", a.Body, repeated, err)
	}
	if _, _, err := g.Do(t.Context(), late, work(late)); !errors.Is(err, target.ErrStale) {
		t.Errorf("the first attempt, once more: %v, want ErrStale", err)
	}
	other := target.Call{Scope: "mail", Token: 1, Key: "mail/1"}
	if _, repeated, err := g.Do(t.Context(), other, work(other)); err != nil || repeated {
		t.Errorf("another scope: %v, %v", repeated, err)
	}
	if n := count(t, db, `SELECT count(*) FROM effects`); n != 2 {
		t.Errorf("%d effects, want 2", n)
	}
	if err := g.Prune(t.Context(), time.Hour); err != nil || count(t, db, `SELECT count(*) FROM rota_answers`) != 2 {
		t.Errorf("young answers are forgotten: %v", err)
	}
	if err := g.Prune(t.Context(), -time.Hour); err != nil || count(t, db, `SELECT count(*) FROM rota_answers`) != 0 {
		t.Errorf("old answers are kept: %v", err)
	}
}

func TestFailedWorkIsUndoneAndItsTokenStays(t *testing.T) {
	db := database(t)
	g := target.New(db)
	c := target.Call{Scope: "pay", Token: 9, Key: "pay/1"}
	failed := errors.New("no money")
	_, _, err := g.Do(t.Context(), c, func(ctx context.Context, tx *sql.Tx) (target.Answer, error) {
		_, _ = work(c)(ctx, tx)
		return target.Answer{}, failed
	})
	if !errors.Is(err, failed) || count(t, db, `SELECT count(*) FROM effects`) != 0 {
		t.Errorf("got %v and effects", err)
	}
	older := target.Call{Scope: "pay", Token: 5, Key: "pay/1"}
	if _, _, err := g.Do(t.Context(), older, work(older)); !errors.Is(err, target.ErrStale) {
		t.Errorf("an older attempt: %v, want ErrStale", err)
	}
	next := target.Call{Scope: "pay", Token: 12, Key: "pay/1"}
	if _, repeated, err := g.Do(t.Context(), next, work(next)); err != nil || repeated {
		t.Errorf("the next attempt: %v, %v", repeated, err)
	}
	for _, broken := range []target.Call{{}, {Scope: "a", Token: 1}, {Scope: "a", Key: "k"}, {Token: 1, Key: "k"}} {
		if _, _, err := g.Do(t.Context(), broken, work(broken)); err == nil {
			t.Errorf("%+v is accepted", broken)
		}
	}
}

// Many attempts of many runs arrive at the same time, and the test kills their connections. Each run that got an answer has one
// effect. No effect is older than an effect that was committed before it.
func TestEachRunHasOneEffectWhoeverDies(t *testing.T) {
	db := database(t)
	g := target.New(db)
	const runs, attempts = 30, 8
	var killed, token atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var killer sync.WaitGroup
	killer.Go(func() {
		for ctx.Err() == nil {
			// Kill only connections that are in use, so that each kill can hit a transaction.
			result, err := db.ExecContext(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE pid <> pg_backend_pid() AND state = 'idle in transaction' ORDER BY random() LIMIT 1`)
			if err == nil {
				n, _ := result.RowsAffected()
				killed.Add(n)
			}
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Millisecond):
			}
		}
	})
	var wg sync.WaitGroup
	var answered sync.Map
	for run := range runs {
		for range attempts {
			wg.Go(func() {
				key := fmt.Sprintf("pay/%d", run)
				for range 100 {
					c := target.Call{Scope: key, Token: token.Add(1), Key: key}
					a, _, err := g.Do(ctx, c, func(ctx context.Context, tx *sql.Tx) (target.Answer, error) {
						answer, err := work(c)(ctx, tx)
						select { // simulates slow work, so that its connection can be killed meanwhile
						case <-ctx.Done():
						case <-time.After(time.Duration(rand.IntN(5)) * time.Millisecond):
						}
						return answer, err
					})
					if err != nil {
						continue // rota would start another attempt, with another token
					}
					if before, loaded := answered.LoadOrStore(key, string(a.Body)); loaded && before != string(a.Body) {
						t.Errorf("%s was answered %q and %q", key, before, a.Body)
					}
					return
				}
				t.Errorf("%s was never answered", key)
			})
		}
	}
	wg.Wait()
	stop()
	killer.Wait()
	if killed.Load() == 0 {
		t.Error("the fault did not happen: no connection was killed")
	}
	if n := count(t, db, `SELECT count(*) FROM effects`); n != runs {
		t.Errorf("%d effects of %d runs", n, runs)
	}
	if n := count(t, db, `SELECT count(*) FROM (SELECT run FROM effects GROUP BY run HAVING count(*) > 1) AS twice`); n != 0 {
		t.Errorf("%d runs have two effects", n)
	}
	t.Logf("%d connections were killed", killed.Load())
}

func TestTheMiddlewareAnswersEachRunOnce(t *testing.T) {
	db := database(t)
	status := http.StatusCreated
	handler := target.New(db).Handler(target.ByJob, func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) {
		if _, err := tx.ExecContext(r.Context(), `INSERT INTO effects (run, token) VALUES ($1, 0)`, r.Header.Get("Rota-Run")); err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Charged", "10")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "charged")
	})
	ask := func(token, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/charge", strings.NewReader("{}"))
		r.Header.Set("Rota-Job", "charge")
		r.Header.Set("Rota-Run", "charge/1")
		r.Header.Set("Rota-Fencing-Token", token)
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	status = http.StatusServiceUnavailable
	if w := ask("3", `"charge/1"`); w.Code != http.StatusServiceUnavailable || count(t, db, `SELECT count(*) FROM effects`) != 0 {
		t.Errorf("an answer that asks for another attempt: %d, and effects", w.Code)
	}
	status = http.StatusCreated
	for i, want := range []string{"", "true"} {
		w := ask(fmt.Sprint(5+i), `"charge/1"`)
		if w.Code != http.StatusCreated || w.Body.String() != "charged" || w.Header().Get("X-Charged") != "10" || w.Header().Get("Idempotent-Replayed") != want {
			t.Errorf("attempt %d: %d %q %v", i, w.Code, w.Body, w.Header())
		}
	}
	if w := ask("5", `"charge/1"`); w.Code != http.StatusConflict {
		t.Errorf("a late attempt: %d, want 409", w.Code)
	}
	for _, broken := range [][2]string{{"", `"k"`}, {"x", `"k"`}, {"7", ""}, {"-1", "k"}} {
		if w := ask(broken[0], broken[1]); w.Code != http.StatusBadRequest {
			t.Errorf("token %q, key %q: %d, want 400", broken[0], broken[1], w.Code)
		}
	}
	if n := count(t, db, `SELECT count(*) FROM effects`); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}
