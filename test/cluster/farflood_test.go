package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// farFlood is a flood of refused requests from a process with the lowest priority. In operation, the clients of a flood are other
// machines. Here they share the processors with the replica, so they must not take the time of the replica and its jobs.
type farFlood struct {
	*Process
	began time.Time
}

// startFarFlood starts the process. It sends as a flood does.
func startFarFlood(t *testing.T, url, request string, clients, perSecond int) *farFlood {
	t.Helper()
	p := NewProcess(t, "nice", "flood", "-n", "19", os.Args[0])
	p.Env = []string{
		roleVariable + "=flood", "FLOOD_URL=" + url, "FLOOD_REQUEST=" + request,
		"FLOOD_CLIENTS=" + strconv.Itoa(clients), "FLOOD_RATE=" + strconv.Itoa(perSecond),
	}
	p.Start()
	return &farFlood{p, time.Now()}
}

// floodCount is what the clients of a flood sent and received.
type floodCount struct {
	sent, refused, other int64
	lasted               time.Duration
}

func (c *floodCount) add(d floodCount) {
	c.sent, c.refused, c.other, c.lasted = c.sent+d.sent, c.refused+d.refused, c.other+d.other, c.lasted+d.lasted
}

// Stop ends the process.
func (f *farFlood) Stop() (n floodCount) {
	f.t.Helper()
	n.lasted = time.Since(f.began)
	f.Signal(syscall.SIGTERM)
	f.Await(20 * time.Second)
	if _, err := fmt.Sscanf(f.Tail(1), "%d sent, %d refused, %d not", &n.sent, &n.refused, &n.other); err != nil {
		f.t.Fatalf("the flood did not count: %v: %s", err, f.Log())
	}
	return n
}

// processorTime returns the time that a process has taken in its own code and in the kernel.
func processorTime(t *testing.T, pid int) (own, kernel time.Duration) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest) // from the third one of proc(5) on, in hundredths of a second
	user, userErr := strconv.Atoi(fields[11])
	system, systemErr := strconv.Atoi(fields[12])
	if err := errors.Join(userErr, systemErr); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user) * 10 * time.Millisecond, time.Duration(system) * 10 * time.Millisecond
}

// playFlood sends FLOOD_REQUEST to FLOOD_URL, FLOOD_RATE times each second from FLOOD_CLIENTS connections, until SIGTERM.
func playFlood() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	clients, err := strconv.Atoi(os.Getenv("FLOOD_CLIENTS"))
	perSecond, rateErr := strconv.Atoi(os.Getenv("FLOOD_RATE"))
	if err := errors.Join(err, rateErr); err != nil {
		return err
	}
	url := strings.TrimSuffix(os.Getenv("FLOOD_URL"), "/")
	f := newFlood(ctx, url, os.Getenv("FLOOD_REQUEST"), clients, perSecond, http.StatusUnauthorized)
	<-ctx.Done()
	f.Stop()
	fmt.Printf("%d sent, %d refused, %d not\n", f.sent.Load(), f.refused.Load(), f.other.Load())
	return nil
}
