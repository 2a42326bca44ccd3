package backend

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/job"
	"github.com/rota-scheduler/rota/scheduler/webhook"
)

// deliver sends a delivery to a hook.
func (b *Backend) deliver(t *testing.T, hook, id string) (run string, created bool) {
	t.Helper()
	key, now := []byte("0123456789abcdef01234567"), time.Now().UTC()
	b.cfg.Secret = func(string) (string, error) { return base64.StdEncoding.EncodeToString(key), nil }
	b.cfg.Delivered = func(string) {}
	signer, err := standardwebhooks.NewWebhookRaw(key)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.Sign(id, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	header.Set(webhook.IDHeader, id)
	header.Set(webhook.TimestampHeader, strconv.FormatInt(now.Unix(), 10))
	header.Set(webhook.SignatureHeader, signature)
	v, created, err := b.Deliver(t.Context(), api.Delivery{Hook: hook, Header: header, At: now, By: "hook/" + hook + " from 192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	return v.Name(), created
}

// A client may choose the key that a delivery will have. The delivery still makes its run.
func TestAKeyOfAClientIsNoDelivery(t *testing.T) {
	b := inMemory(t)
	b.define(t, "toy", `{"command":["true"]}`)
	b.define(t, "pay", `{"command":["true"],"hooks":{"paid":{"secret":"${file:/run/secret}"}}}`)
	now := time.Now().UTC()
	s := api.Submission{Job: "toy", Kind: job.KindManual, Asked: now, Due: now, Key: "hook/paid/m1", By: "operator ci"}
	if _, _, err := b.Submit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if run, created := b.deliver(t, "paid", "m1"); !created || run[:4] != "pay/" {
		t.Errorf("got run %s, created %v", run, created)
	}
}

func TestADeliveryMakesOneRunAlsoIfItsHookMoves(t *testing.T) {
	const with, without = `{"command":["true"],"hooks":{"paid":{"secret":"${file:/run/secret}"}}}`, `{"command":["true"]}`
	b := inMemory(t)
	b.define(t, "old", with)
	first, created := b.deliver(t, "paid", "m1")
	if !created || first[:4] != "old/" {
		t.Fatalf("got run %s, created %v", first, created)
	}
	for _, move := range [][2]string{{"old", "new"}, {"new", "newest"}} {
		b.define(t, move[0], without)
		b.define(t, move[1], with)
		if run, created := b.deliver(t, "paid", "m1"); created || run != first {
			t.Errorf("at job %s: got run %s, created %v, want run %s", move[1], run, created, first)
		}
		if run, created := b.deliver(t, "paid", "m-"+move[1]); !created {
			t.Errorf("at job %s: another delivery made no run, but got %s", move[1], run)
		}
	}
}

// While the record of its job is unreadable, a delivery must be sent again later. After 404, some senders give the hook up.
func TestADeliveryWaitsForAnUnreadableJob(t *testing.T) {
	b := inMemory(t)
	b.cfg.Delivered = func(string) {}
	deliver := func() error {
		_, _, err := b.Deliver(t.Context(), api.Delivery{Hook: "paid", At: time.Now().UTC()})
		return err
	}
	if err := deliver(); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("without the job: got %v", err)
	}
	put := func(key string) {
		t.Helper()
		put, err := b.client.Put(t.Context(), key, "garbage")
		if err == nil {
			err = b.mirror.WaitFor(t.Context(), put.Header.Revision)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("/rota/jobs/no job's name")
	put("/rota/jobs/pay/more")
	if err := deliver(); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("with keys that no job can have: got %v", err)
	}
	put("/rota/jobs/pay")
	if err := deliver(); !errors.Is(err, api.ErrUnavailable) || strings.Contains(err.Error(), "pay") {
		t.Errorf("with an unreadable job: got %v", err)
	}
}
