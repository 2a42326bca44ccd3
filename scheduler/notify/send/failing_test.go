package send_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rota-scheduler/rota/scheduler/notify/send"
)

// TestWhatDoesNotArriveIsTold sends to a service that refuses everything for a time.
func TestWhatDoesNotArriveIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuses atomic.Bool
		refuses.Store(true)
		w := newWire(func(_ context.Context, url string) error {
			if refuses.Load() || url == "old" {
				return errors.New("no")
			}
			return nil
		})
		d, ctx := open(t, w, send.DefaultConfig())
		const day = 24 * time.Hour
		began := time.Now()
		items(ctx, d, "old", 1)
		synctest.Wait()
		if list := d.Undelivered(time.Now(), day); len(list) != 0 {
			t.Errorf("after one failure: %v", list)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		list := d.Undelivered(time.Now(), day)
		if len(list) != 1 || list[0].Notifier != "ops" || !list[0].Since.Equal(began) || !list[0].GaveUp.IsZero() || list[0].Cause != "no" {
			t.Errorf("while it is repeated: %+v", list)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if list = d.Undelivered(time.Now(), day); len(list) != 1 || list[0].GaveUp.IsZero() {
			t.Errorf("after it was given up: %+v", list)
		}
		if list = d.Undelivered(time.Now().Add(day), day); len(list) != 0 {
			t.Errorf("a day later: %+v", list)
		}
		items(ctx, d, "new", 1) // the notifier has another URL, which does not work at first
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if list = d.Undelivered(time.Now(), day); len(list) != 2 {
			t.Errorf("with two that fail: %+v", list)
		}
		refuses.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if list = d.Undelivered(time.Now(), day); len(list) != 0 {
			t.Errorf("after one arrived: %+v", list)
		}
	})
}
