package node

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
)

// TestANodeThatWaitsForEtcdAsksOften has etcd answer again after an outage that is long enough for pauses to grow.
func TestANodeThatWaitsForEtcdAsksOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		n := &Node{set: config.Settings{}, log: hclog.New(&hclog.LoggerOptions{Output: &log})}
		began := time.Now()
		const outage = 50 * time.Second
		err := n.awaitEtcd(t.Context(), func(context.Context) error {
			if time.Since(began) < outage {
				return errors.New("no leader")
			}
			return nil
		})
		if late := time.Since(began) - outage; err != nil || late > askPause {
			t.Errorf("got %v, %v after etcd was back, want it within %v", err, late, askPause)
		}
		if got, most := strings.Count(log.String(), "etcd does not answer"), int(outage/askTold)+1; got == 0 || got > most {
			t.Errorf("it was told %d times, want at most %d:\n%s", got, most, &log)
		}
	})
}
