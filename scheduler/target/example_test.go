package target_test

import (
	"database/sql"
	"log"
	"net/http"

	"github.com/rota-scheduler/rota/scheduler/target"
)

// A service charges an account once for each run, however often rota has to try.
func ExampleGuard_Handler() { //nolint:testableexamples // it needs a database
	db, err := sql.Open("pgx", "postgres://billing@localhost/billing")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec(target.Schema); err != nil { // once, when the service is installed
		log.Fatal(err)
	}
	charge := func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) {
		_, err := tx.ExecContext(r.Context(), `UPDATE accounts SET balance = balance - 10 WHERE id = 7`)
		if err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable) // undone, and not kept
			return
		}
		w.WriteHeader(http.StatusCreated) // committed together with the charge
	}
	http.Handle("POST /charge", target.New(db).Handler(target.ByRun, charge))
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", nil))
}
