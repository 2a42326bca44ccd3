package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// nothing is the job of River.
type nothing struct{}

// Kind implements river.JobArgs.
func (nothing) Kind() string { return "nothing" }

// The settings of River: how many jobs run at a time, and how many one call creates.
const (
	riverWorkers = 1000
	riverBatch   = 1000
)

// measureRiver creates jobs and runs them, at the same time, on PostgreSQL.
func measureRiver(ctx context.Context, o options, dir string) (f figure, version string, err error) {
	began := used()
	address, server, stop, err := startPostgres(ctx, dir)
	if err != nil {
		return f, "", err
	}
	done, err := workRiver(ctx, o, address, &f)
	if err := errors.Join(err, stop()); err != nil {
		return f, "", err
	}
	f.micros = (used() - began).Seconds() * 1e6 / float64(done)
	return f, "River " + moduleVersion("github.com/riverqueue/river") + " on " + server, nil
}

// workRiver sets the rate of f and returns how many jobs ended in all.
func workRiver(ctx context.Context, o options, address string, f *figure) (done int64, err error) {
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil {
		return 0, err
	}
	cfg.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	if err := await(ctx, func() error { return pool.Ping(ctx) }); err != nil {
		return 0, err
	}
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		return 0, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[nothing]) error { return nil }))
	client, err := river.NewClient(driver, &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: riverWorkers}},
		FetchCooldown: time.Millisecond, Logger: slog.New(slog.DiscardHandler), CompletedJobRetentionPeriod: time.Hour,
	})
	if err != nil {
		return 0, err
	}
	// River reports an end after it is in the database.
	ends, cancel := client.SubscribeConfig(&river.SubscribeConfig{
		Kinds: []river.EventKind{river.EventKindJobCompleted}, ChanSize: 100 * riverBatch,
	})
	defer cancel()
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	var ended atomic.Int64
	go func() { // ends when cancel closes the channel
		for range ends {
			ended.Add(1)
		}
	}()
	err = keepBusy(ctx, o, &ended, f, load{creators: 8, backlog: 5 * riverBatch, create: func(ctx context.Context) (int, error) {
		batch := make([]river.InsertManyParams, riverBatch)
		for i := range batch {
			batch[i].Args = nothing{}
		}
		return client.InsertManyFast(ctx, batch)
	}})
	return ended.Load(), errors.Join(err, client.Stop(ctx), noRows(ctx, pool))
}

// noRows returns an error if a job has another state than completed.
func noRows(ctx context.Context, pool *pgxpool.Pool) error {
	var id int64
	err := pool.QueryRow(ctx, "SELECT id FROM river_job WHERE state <> 'completed' LIMIT 1").Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return errors.Join(err, errors.New("a job of River has not ended"))
}
