package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// usage returns the processor time of this process.
func usage() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// usageOf returns the processor time of a process, to 10 ms; 0 if there is no such process.
func usageOf(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, found := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if err != nil || !found || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // the kernel counts in hundredths of a second
}

// memory reads a field of /proc/self/status, such as VmRSS, in MiB.
func memory(field string) float64 { return memoryOf(os.Getpid(), field) }

// memoryOf reads a field of the status of a process, in MiB.
func memoryOf(pid int, field string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib / 1024
		}
	}
	return 0
}

// live returns the bytes in use at the last garbage collection.
func live() float64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// counters are the store's metrics, summed over all nodes.
type counters struct {
	transactions, puts, bytes, writes, conflicts, fenced float64
	syncs, syncTime, commits, commitTime                 float64 // of etcd's log and of its database
	unsent                                               float64 // outcomes that are not stored yet
}

func (c *cluster) counters(ctx context.Context) (sum counters, err error) {
	for _, m := range c.list {
		for _, addr := range []string{m.http, m.client} {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", nil)
			if err != nil {
				return sum, err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return sum, err
			}
			if resp.StatusCode == http.StatusOK {
				sum.read(resp.Body)
			} else {
				body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
				err = fmt.Errorf("read the metrics of %s: %s: %s", m.name, resp.Status, body)
			}
			resp.Body.Close()
			if err != nil {
				return sum, err
			}
		}
	}
	return sum, nil
}

// settle waits until all outcomes are in the store, and returns when the last one was written. Metrics are costly to read with
// many jobs, so it reads them only when nothing was written for a while.
func (c *cluster) settle(ctx context.Context) (ended time.Time, err error) {
	const quiet = 500 * time.Millisecond
	client, err := c.etcd()
	if err != nil {
		return ended, err
	}
	defer client.Close()
	// A poll; ctx has the deadline.
	for last := int64(0); ; time.Sleep(20 * time.Millisecond) {
		rev, err := revision(ctx, client)
		if err != nil {
			return ended, err
		}
		if rev != last {
			last, ended = rev, time.Now()
		}
		if time.Since(ended) < quiet {
			continue
		}
		if now, err := c.counters(ctx); err != nil || now.unsent == 0 {
			return ended, err
		}
	}
}

func (c *cluster) etcd() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{"http://" + c.list[0].client}, DialTimeout: 5 * time.Second})
}

// revision returns the revision of the store.
func (c *cluster) revision(ctx context.Context) (int64, error) {
	client, err := c.etcd()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	return revision(ctx, client)
}

func revision(ctx context.Context, client *clientv3.Client) (int64, error) {
	resp, err := client.Get(ctx, "/rota/gate", clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return resp.Header.Revision, nil
}

func (c *counters) read(r io.Reader) {
	fields := map[string]*float64{
		"rota_store_transactions_total": &c.transactions, "rota_store_puts_total": &c.puts,
		"rota_store_written_bytes_total": &c.bytes, "rota_store_writes_total": &c.writes,
		"rota_store_conflicts_total": &c.conflicts, "rota_store_fenced_writes_total": &c.fenced,
		"rota_outcomes_unsent":                       &c.unsent,
		"etcd_disk_wal_fsync_duration_seconds_count": &c.syncs, "etcd_disk_wal_fsync_duration_seconds_sum": &c.syncTime,
		"etcd_disk_backend_commit_duration_seconds_count": &c.commits, "etcd_disk_backend_commit_duration_seconds_sum": &c.commitTime,
	}
	for scan := bufio.NewScanner(r); scan.Scan(); {
		name, value, _ := strings.Cut(scan.Text(), " ")
		if to := fields[name]; to != nil {
			v, _ := strconv.ParseFloat(value, 64)
			*to += v
		}
	}
}

func (c counters) minus(o counters) counters {
	return counters{
		c.transactions - o.transactions, c.puts - o.puts, c.bytes - o.bytes, c.writes - o.writes,
		c.conflicts - o.conflicts, c.fenced - o.fenced,
		c.syncs - o.syncs, c.syncTime - o.syncTime, c.commits - o.commits, c.commitTime - o.commitTime,
		c.unsent,
	}
}

// latencies collects durations from many goroutines.
type latencies struct {
	mu   sync.Mutex
	list []time.Duration // guarded by mu
}

func (l *latencies) add(d time.Duration) {
	l.mu.Lock()
	l.list = append(l.list, d)
	l.mu.Unlock()
}

// quantiles returns the quantiles as text.
func (l *latencies) quantiles() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return "none"
	}
	slices.Sort(l.list)
	at := func(q float64) time.Duration { return l.list[int(q*float64(len(l.list)-1))] }
	return fmt.Sprintf("p50 %s, p99 %s, max %s", ms(at(.5)), ms(at(.99)), ms(at(1)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// say prints one line of a report.
func say(what, format string, args ...any) {
	fmt.Printf("  %-26s %s\n", what, fmt.Sprintf(format, args...))
}
