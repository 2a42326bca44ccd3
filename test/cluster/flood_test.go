package cluster

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// flood sends the same request over and over, on connections that stay open.
type flood struct {
	refused, other atomic.Int64 // answers with the expected status, and all others

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// startFlood starts clients that together send about perSecond requests. They stop at Stop, or at the end of the test.
func startFlood(t *testing.T, url, request string, clients, perSecond, status int) *flood {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	f := &flood{stop: stop}
	t.Cleanup(f.Stop)
	const beat = 10 * time.Millisecond
	permits := make(chan struct{}, perSecond/10)
	f.wg.Go(func() {
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		began, sent := time.Now(), 0
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			for ; sent < int(time.Since(began).Seconds()*float64(perSecond)); sent++ {
				select {
				case permits <- struct{}{}:
				default: // the clients are behind: this permit is lost
				}
			}
		}
	})
	addr := strings.TrimPrefix(url, "http://")
	for range clients {
		f.wg.Go(func() { f.client(ctx, addr, request, status, permits) })
	}
	return f
}

func (f *flood) client(ctx context.Context, addr, request string, status int, permits <-chan struct{}) {
	for ctx.Err() == nil {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err != nil {
			if ctx.Err() == nil {
				f.other.Add(1)
			}
			continue
		}
		release := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
		answers := bufio.NewReader(conn)
		for wanted(ctx, permits) {
			_, err := io.WriteString(conn, request)
			var res *http.Response
			if err == nil {
				res, err = http.ReadResponse(answers, nil)
			}
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
			}
			if ctx.Err() != nil {
				break
			}
			if err != nil || res.StatusCode != status {
				f.other.Add(1)
				break
			}
			f.refused.Add(1)
		}
		release()
		_ = conn.Close()
	}
}

// wanted waits for a permit. It returns false at the end of the flood.
func wanted(ctx context.Context, permits <-chan struct{}) bool {
	select {
	case <-permits:
		return true
	case <-ctx.Done():
		return false
	}
}

// Stop stops the clients and waits for them.
func (f *flood) Stop() {
	f.stop()
	f.wg.Wait()
}
