package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/hibiken/asynq"
)

// asynqWorkers is how many tasks run at a time, and how many are created at a time: asynq creates them one by one.
const asynqWorkers = 128

// measureAsynq creates tasks and runs them, at the same time, on Redis.
func measureAsynq(ctx context.Context, o options, dir string) (f figure, version string, err error) {
	began := used()
	socket := filepath.Join(dir, "redis.sock")
	stop, err := startServer(exec.CommandContext(ctx, "redis-server", "--port", "0", "--unixsocket", socket, "--dir", dir,
		"--appendonly", "yes", "--appendfsync", "always", "--save", "", "--auto-aof-rewrite-percentage", "0"), syscall.SIGTERM)
	if err != nil {
		return f, "", err
	}
	done, err := workAsynq(ctx, o, asynq.RedisClientOpt{Network: "unix", Addr: socket, PoolSize: 2 * asynqWorkers}, &f)
	if err := errors.Join(err, stop()); err != nil {
		return f, "", err
	}
	f.micros = (used() - began).Seconds() * 1e6 / float64(done)
	out, err := exec.CommandContext(ctx, "redis-server", "--version").Output()
	server, _, _ := strings.Cut(string(out), " sha=")
	return f, "asynq " + moduleVersion("github.com/hibiken/asynq") + " on " + server + ", appendfsync always", err
}

// workAsynq sets the rate of f and returns how many tasks ended in all.
func workAsynq(ctx context.Context, o options, redis asynq.RedisClientOpt, f *figure) (done int64, err error) {
	client := asynq.NewClient(redis)
	defer client.Close()
	if err := await(ctx, client.Ping); err != nil {
		return 0, err
	}
	var ended atomic.Int64
	server := asynq.NewServer(redis, asynq.Config{Concurrency: asynqWorkers, LogLevel: asynq.FatalLevel})
	if err := server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { ended.Add(1); return nil })); err != nil {
		return 0, err
	}
	err = keepBusy(ctx, o, &ended, f, load{creators: asynqWorkers, backlog: 1000, create: func(ctx context.Context) (int, error) {
		_, err := client.EnqueueContext(ctx, asynq.NewTask("nothing", nil))
		return 1, err
	}})
	server.Shutdown() // it waits for the tasks that run
	inspector := asynq.NewInspector(redis)
	defer inspector.Close()
	queue, queueErr := inspector.GetQueueInfo("default")
	if queueErr == nil && queue.Size > 0 {
		queueErr = fmt.Errorf("%d tasks of asynq have not ended", queue.Size)
	}
	return ended.Load(), errors.Join(err, queueErr)
}
