package worker

import (
	"errors"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestAWorkerEndsWhenAnotherProcessHasItsName(t *testing.T) {
	for _, c := range []struct {
		name   string
		ending func(*fakeSession)
		every  time.Duration
		want   error
	}{
		{"its presence is taken again and again", (*fakeSession).take, 10 * time.Second, ErrNameTaken},
		{"its presence is taken rarely", (*fakeSession).take, lossWindow, nil},
		{"its session is lost again and again", (*fakeSession).lose, 10 * time.Second, nil},
	} {
		bubble(t, c.name, func(t *testing.T) {
			r := newRig(t, lasting(time.Second))
			r.start()
			for range maxLosses {
				name := r.store.pending("backup", time.Now().Format("150405"), time.Now())
				r.give(name)
				after(2 * time.Second)
				r.wantState(name, job.Succeeded)
				c.ending(r.session())
				after(c.every - 2*time.Second)
			}
			if c.want == nil {
				r.stop()
			}
			select {
			case got := <-r.done:
				if !errors.Is(got, c.want) {
					t.Errorf("Run() = %v, want %v", got, c.want)
				}
				close(r.done)
			case <-time.After(time.Minute):
				t.Error("the worker goes on")
			}
		})
	}
}
