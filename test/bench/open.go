package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// viewers are open pages of the overview, without a browser: each follows the stream of events, and reads the page again when an
// event says so.
type viewers struct {
	url   string
	pages int

	open, events, reads, bytes, failures atomic.Int64
	slow                                 latencies // of reads
}

func open() benchmark {
	var v viewers
	return benchmark{
		name: "open", usage: "only the open pages of benchmark pages, until the standard input ends",
		flags: func(f *flag.FlagSet) {
			f.StringVar(&v.url, "url", "http://127.0.0.1:8470", "address of the replica")
			f.IntVar(&v.pages, "pages", 1000, "open pages")
		},
		run: v.run,
	}
}

func (v *viewers) run(ctx context.Context, _ *options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 100
	var wg sync.WaitGroup
	for i := range v.pages {
		wg.Go(func() {
			// The pages open one after another within ten seconds, as people open them. A page that fails opens again.
			pause := time.Duration(i) * 10 * time.Second / time.Duration(v.pages)
			for wait(ctx, pause) {
				if err := v.view(ctx); err != nil && ctx.Err() == nil {
					v.failures.Add(1)
				}
				pause = 3 * time.Second
			}
		})
	}
	begin := time.Now()
	_, err := io.Copy(io.Discard, os.Stdin)
	took := time.Since(begin).Seconds()
	say("streams that are open", "%d", v.open.Load())
	say("reads", "%.1f a second, %.1f MiB a second, %s", float64(v.reads.Load())/took, float64(v.bytes.Load())/took/(1<<20), v.slow.quantiles())
	say("events", "%.1f a second", float64(v.events.Load())/took)
	say("failed", "%d times", v.failures.Load())
	stop()
	wg.Wait()
	return err
}

// wait waits, and reports whether ctx goes on.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// view is one open page. It does what the script of the page does.
func (v *viewers) view(ctx context.Context) error {
	if err := v.read(ctx); err != nil {
		return err
	}
	answer, err := v.get(ctx, "/v1/live")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	v.open.Add(1)
	defer v.open.Add(-1)
	var due *time.Timer // the read that is to come; nil: none
	defer func() {
		if due != nil {
			due.Stop()
		}
	}()
	failed := make(chan error, 1)
	lines, kind := bufio.NewScanner(answer.Body), ""
	for lines.Scan() {
		select {
		case err := <-failed:
			return err
		default:
		}
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kind = name
			continue
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || kind != "changed" {
			continue
		}
		v.events.Add(1)
		var c struct{ Retry float64 }
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			return err
		}
		due = time.AfterFunc(time.Duration(rand.Float64()*c.Retry)*time.Millisecond, func() {
			if err := v.read(ctx); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	return fmt.Errorf("a stream ended: %w", errors.Join(lines.Err(), io.EOF))
}

// read reads the overview, as a page does after an event.
func (v *viewers) read(ctx context.Context) error {
	begin := time.Now()
	answer, err := v.get(ctx, "/")
	if err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, answer.Body)
	v.reads.Add(1)
	v.bytes.Add(n)
	v.slow.add(time.Since(begin))
	return errors.Join(err, answer.Body.Close())
}

func (v *viewers) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(req)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("GET %s: %s", path, answer.Status), answer.Body.Close())
	}
	return answer, err
}
