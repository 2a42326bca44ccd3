package httpx_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/rota-scheduler/rota/scheduler/executor"
	httpx "github.com/rota-scheduler/rota/scheduler/executor/http"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// An executor of HTTP requests sends headers that describe the attempt. The body of the response becomes its output.
func ExampleNew() {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "charged for", r.Header.Get("Rota-Run"), "with token", r.Header.Get("Rota-Fencing-Token"))
	}))
	defer target.Close()
	e := httpx.New(httpx.Config{}, time.Now)
	defer e.Close()
	o := e.Execute(context.Background(), executor.Request{
		Run:    job.Run{Job: "billing", ID: "m1", Attempt: 1, Token: 42},
		Spec:   job.Spec{HTTP: &job.HTTP{URL: target.URL}}.WithDefaults(),
		Output: os.Stdout,
	})
	fmt.Println(o.State, *o.Exit)
	// Output:
	// charged for billing/m1 with token 42
	// succeeded 200
}
