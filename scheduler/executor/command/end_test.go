package command

import (
	"io"
	"os"
	"sync"
	"testing"
	"time"
)

// TestAProgramThatExitsBeforeTheSignal ends a program that exits while the worker searches for its processes.
func TestAProgramThatExitsBeforeTheSignal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	p, err := start(program{path: "/bin/sh", argv: []string{"/bin/sh", "-c", "exit 0"}}, nil, null, &wg)
	if err != nil {
		t.Fatal(err)
	}
	p.mark, p.finding = "m", make(chan found, 1)
	<-p.exited // end learns this after its search
	p.finding <- found{}
	if how := p.end(time.Second, nil, io.Discard); how != "" {
		t.Errorf("got %q, want that the program has ended by itself", how)
	}
	p.reap()
	if s := p.state(); s == nil || !s.Success() {
		t.Errorf("got %v, want success", s)
	}
}
