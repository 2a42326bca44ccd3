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

// flood sends the same request over and over, on connections that stay open. It does not wait for answers.
type flood struct {
	sent           atomic.Int64 // requests
	refused, other atomic.Int64 // answers with the expected status, and all others

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// startFlood starts clients that together send about perSecond requests. They stop at Stop, or at the end of the test.
func startFlood(t *testing.T, url, request string, clients, perSecond, status int) *flood {
	t.Helper()
	f := newFlood(t.Context(), url, request, clients, perSecond, status)
	t.Cleanup(f.Stop)
	return f
}

func newFlood(ctx context.Context, url, request string, clients, perSecond, status int) *flood {
	ctx, stop := context.WithCancel(ctx)
	f := &flood{stop: stop}
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
		var reading sync.WaitGroup
		reading.Go(func() {
			f.read(ctx, conn, status)
			_ = conn.Close() // so that the writer ends
		})
		for wanted(ctx, permits) {
			if _, err := io.WriteString(conn, request); err != nil {
				break
			}
			f.sent.Add(1)
		}
		release()
		_ = conn.Close()
		reading.Wait()
	}
}

// read counts the answers that arrive on a connection.
func (f *flood) read(ctx context.Context, conn net.Conn, status int) {
	for answers := bufio.NewReader(conn); ; {
		res, err := http.ReadResponse(answers, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil || res.StatusCode != status {
			f.other.Add(1)
			return
		}
		f.refused.Add(1)
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
