package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

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

// FindJobs pages through the jobs that fail, with their latest runs.
func ExampleClient_FindJobs() {
	c, err := client.New(client.Config{Servers: "http://q1:8470"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for next := ""; ; {
		page, err := c.FindJobs(context.Background(), client.JobFilter{States: []string{"failing"}, Recent: 5}, next)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, v := range page.Jobs {
			fmt.Println(v.Name, v.Recent)
		}
		if next = page.Continue; next == "" {
			return
		}
	}
}

// Gantt shows what ran last night, and why a run was late.
func ExampleClient_Gantt() {
	c, err := client.New(client.Config{Servers: "http://q1:8470"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	now := time.Now()
	night, err := c.Gantt(context.Background(), client.GanttFilter{From: now.Add(-12 * time.Hour), Until: now, Search: "backup"}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range night.Rows {
		for _, run := range row.Runs {
			fmt.Println(row.Job, run.Slot, run.State, run.Started.Sub(run.Slot), run.Reason)
		}
	}
}

// Month lists the days of May on which a job has slots.
func ExampleClient_Month() {
	c, err := client.New(client.Config{Servers: "http://q1:8470"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	may, err := c.Month(context.Background(), "backup", 2026, time.May)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, day := range may.Days {
		fmt.Println(day.Date, day.Slots, day.Counts)
	}
}

// Load finds the minute of the coming week in which most runs begin.
func ExampleClient_Load() {
	c, err := client.New(client.Config{Servers: "http://q1:8470"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	load, err := c.Load(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	busiest := 0
	for i, n := range load.Minutes {
		if n > load.Minutes[busiest] {
			busiest = i
		}
	}
	fmt.Println(load.From.Add(time.Duration(busiest)*time.Minute), load.Minutes)
}

// WorkflowRuns shows which step of a workflow failed, slot by slot.
func ExampleClient_WorkflowRuns() {
	c, err := client.New(client.Config{Servers: "http://q1:8470"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	grid, err := c.WorkflowRuns(context.Background(), "report", 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, run := range grid.Runs {
		for _, step := range grid.Steps {
			fmt.Println(run.Slot, step, run.Steps[step].State)
		}
	}
}
