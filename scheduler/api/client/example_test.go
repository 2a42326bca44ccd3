package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

// replica starts a fake replica of a cluster without jobs.
func replica() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"status": 404, "detail": "there is no job \"bakup\", did you mean \"backup\"?"}`)
	}))
}

// errors.Is matches the errors of a Client with the errors of package job.
func ExampleClient_Job() {
	srv := replica()
	defer srv.Close()
	c, err := client.New(client.Config{Servers: srv.URL, By: "alice"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	_, err = c.Job(context.Background(), "bakup")
	fmt.Println(errors.Is(err, job.ErrNotFound), err)
	// Output: true there is no job "bakup", did you mean "backup"?
}

// A submission with a key may be repeated: it creates only one run. Wait returns the run when it has ended.
func ExampleClient_Submit() {
	c, err := client.New(client.Config{Servers: "http://q1:8470,http://q2:8470,http://q3:8470"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx := context.Background()
	run, created, err := c.Submit(ctx, "backup", api.RunRequest{Key: "release-17"})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended, err := c.Wait(ctx, run.Ref)
	fmt.Println(created, ended.State, err)
}
