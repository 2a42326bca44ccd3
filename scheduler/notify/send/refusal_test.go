package send_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/scheduler/notify"
	"github.com/rota-scheduler/rota/scheduler/notify/send"
)

// picky is a wire that refuses one message.
type picky struct {
	*wire
	title string
}

func (p picky) Send(ctx context.Context, url string, m notify.Message) error {
	if m.Title == p.title {
		return &send.Refusal{Text: "answer is 400 Bad Request"}
	}
	return p.wire.Send(ctx, url, m)
}

func TestARefusedMessageHoldsUpNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWire(nil)
		ctx, cancel := context.WithCancel(t.Context())
		d := send.NewQueues(send.DefaultConfig(), picky{w, "a 0"}, w, hclog.NewNullLogger())
		defer func() { cancel(); d.Wait() }()
		done := items(ctx, d, "a", 3)
		time.Sleep(time.Minute)
		if n := len(w.titles("a")); n != 2 || done.Load() != 2 {
			t.Errorf("%d messages arrived behind the refused one, and %d are done, want 2", n, done.Load())
		}
		time.Sleep(2 * time.Hour)
		if w.counted(send.Failed) != 1 || done.Load() != 3 {
			t.Errorf("%d were given up and %d are done, want 1 and 3", w.counted(send.Failed), done.Load())
		}
		if n := w.counted(send.Repeated); n > 75 {
			t.Errorf("the refused message was repeated %d times", n)
		}
	})
}

func TestStatusesThatRefuseAMessage(t *testing.T) {
	for status, want := range map[int]bool{
		400: true, 413: true, 415: true, 422: true, 401: false, 404: false, 429: false, 503: false,
	} {
		host, _ := hook(t, status)
		err := services(t).Send(t.Context(), "generic+http://"+host+"/", message)
		if _, refused := errors.AsType[*send.Refusal](err); err == nil || refused != want {
			t.Errorf("status %d: got %v, a refusal of the message: %v", status, err, refused)
		}
	}
}
