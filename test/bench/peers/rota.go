package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
)

// The lines of ../ that have the figures.
var (
	rateLine = regexp.MustCompile(`(?m)^ *runs settled +(\d+) /s`)
	costLine = regexp.MustCompile(`(?m)^ *all in all, per run .* ([0-9.]+) us of processor`)
)

// measureRota runs the throughput benchmark of rota: one node with one member of etcd, and more runs due than it can do.
func measureRota(ctx context.Context, o options, dir string) (f figure, version string, err error) {
	out, err := exec.CommandContext(ctx, o.bench, "throughput", "-dir", dir, "-rate", strconv.Itoa(o.rate), "-warm", o.warm.String(),
		"-for", o.lasts.String(), "-limit", "0").CombinedOutput()
	rate, cost := rateLine.FindSubmatch(out), costLine.FindSubmatch(out)
	if err != nil || rate == nil || cost == nil {
		return f, "", fmt.Errorf("%s: %w\n%s", o.bench, err, out)
	}
	if f.rate, err = strconv.ParseFloat(string(rate[1]), 64); err == nil {
		f.micros, err = strconv.ParseFloat(string(cost[1]), 64)
	}
	return f, "rota of this checkout, with embedded etcd", err
}
