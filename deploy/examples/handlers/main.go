// Command handlers is an example of a worker with its own Go functions. Copy it and change it.
//
//	rota dev &
//	go run ./deploy/examples/handlers
//	rota apply deploy/examples/handlers/jobs.yaml
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/cmd/rota/node"
	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/executor/handler"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Environ())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a worker until ctx ends.
func run(ctx context.Context, environ []string) error {
	settings, err := loadSettings(environ)
	if err != nil {
		return err
	}
	return node.Run(ctx, node.Config{
		Role:     node.WorkerOnly,
		Settings: settings,
		Handlers: map[string]handler.Func{"greet": greet},
	}, hclog.New(&hclog.LoggerOptions{Name: "handlers"}))
}

// loadSettings reads the file that ROTA_CONFIG names. Without it, the worker is one of the local `rota dev`.
func loadSettings(environ []string) (config.Settings, error) {
	if file := os.Getenv("ROTA_CONFIG"); file != "" {
		return config.LoadSettings(file, nil, environ)
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(os.Getenv("HOME"), ".local", "state")
	}
	// The file of `rota dev` has the way to its etcd. ROTA_… variables win over these settings.
	return config.LoadSettings(filepath.Join(state, "rota", "dev.yaml"), nil, append([]string{
		"ROTA_NODE_NAME=handlers",
		"ROTA_NODE_DATA_DIR=" + filepath.Join(os.TempDir(), "rota-handlers"),
		"ROTA_HTTP_LISTEN=127.0.0.1:8480",
	}, environ...))
}

// greet does the work of `handler: greet`. It must tolerate a second call for the same run: t.Key is the same for all
// attempts, and t.Token is higher for every later one. A target can use both to refuse repetitions and late attempts.
func greet(ctx context.Context, t handler.Task) error {
	var payload struct{ Who string }
	if err := json.Unmarshal(t.Payload, &payload); err != nil {
		return handler.Permanent(fmt.Errorf("read payload: %w", err)) // another attempt would not help
	}
	if payload.Who == "" {
		return handler.Permanent(errors.New("payload has no who"))
	}
	if err := ctx.Err(); err != nil {
		return err // an error that is not permanent is retried
	}
	fmt.Fprintf(t.Output, "hello %s, from attempt %d of %s\n", payload.Who, t.Attempt, t.Run)
	return nil // the work is done, even if ctx has ended
}
