package target_test

import (
	"database/sql"
	"log"
	"net/http"

	"github.com/rota-scheduler/rota/scheduler/target"
)

// A service charges an account once for each run, even if rota makes several attempts.
func ExampleGuard_Handler() { //nolint:testableexamples // it needs a database
	db, err := sql.Open("pgx", "postgres://billing@localhost/billing")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec(target.Schema); err != nil { // once, at the installation of the service
		log.Fatal(err)
	}
	charge := func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) {
		_, err := tx.ExecContext(r.Context(), `UPDATE accounts SET balance = balance - 10 WHERE id = 7`)
		if err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable) // the work is rolled back, and the answer is not stored
			return
		}
		w.WriteHeader(http.StatusCreated) // committed together with the charge
	}
	http.Handle("POST /charge", target.New(db).Handler(target.ByRun, charge))
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}
