package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
)

// This program runs a replica with an embedded etcd. It registers a Go function that a job calls every second.
func Example() {
	dir, err := os.MkdirTemp("", "rota-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	jobs := filepath.Join(dir, "jobs.yaml")
	if err := os.WriteFile(jobs, []byte("jobs:\n  hello: {every: 1s, handler: greet}\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	settings, err := config.LoadSettings("", nil, []string{
		"ROTA_NODE_NAME=example",
		"ROTA_NODE_DATA_DIR=" + dir,
		"ROTA_HTTP_LISTEN=127.0.0.1:0",
		"ROTA_ETCD_EMBEDDED_CLIENT=http://127.0.0.1:0",
		"ROTA_JOBS=" + jobs,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	greet := func(_ context.Context, t handler.Task) error {
		if ctx.Err() == nil {
			fmt.Println("hello from job", t.Job)
			stop() // a real program runs until a signal ends ctx
		}
		return nil
	}
	err = node.Run(ctx, node.Config{Settings: settings, Handlers: map[string]handler.Func{"greet": greet}}, hclog.NewNullLogger())
	fmt.Println("stopped:", err)
	// Output:
	// hello from job hello
	// stopped: <nil>
}
