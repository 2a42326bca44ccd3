package job

import (
	"testing"
	"time"
)

func TestUndeliveredMessages(t *testing.T) {
	for want, u := range map[string]Undelivered{
		"Messages of notifier ops do not arrive, and are repeated: 500.": {Notifier: "ops", Cause: "500"},
		"A message of notifier ops was given up: 500.":                   {Notifier: "ops", Cause: "500", GaveUp: time.Unix(1, 0)},
		"Pings do not arrive, and are repeated: 500.":                    {Notifier: Pings, Cause: "500"},
		"A ping was given up: 500.":                                      {Notifier: Pings, Cause: "500", GaveUp: time.Unix(1, 0)},
	} {
		if got := u.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
