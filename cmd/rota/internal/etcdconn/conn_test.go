package etcdconn

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// TestANodeThatWaitsForEtcdAsksOften ends an outage of etcd that is long enough for the pauses between tries to grow.
func TestANodeThatWaitsForEtcdAsksOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		c := &Conn{log: hclog.New(&hclog.LoggerOptions{Output: &log})}
		began := time.Now()
		const outage = 50 * time.Second
		err := c.await(t.Context(), func(context.Context) error {
			if time.Since(began) < outage {
				return errors.New("no leader")
			}
			return nil
		})
		if late := time.Since(began) - outage; err != nil || late > askPause {
			t.Errorf("got %v, %v after etcd was back, want it within %v", err, late, askPause)
		}
		if got, most := strings.Count(log.String(), "etcd does not answer"), int(outage/complainEach)+1; got == 0 || got > most {
			t.Errorf("it was logged %d times, want at most %d:\n%s", got, most, &log)
		}
	})
}
