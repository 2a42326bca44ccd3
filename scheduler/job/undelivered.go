package job

import (
	"fmt"
	"time"
)

// Undelivered is a notifier whose messages do not arrive. The leader publishes it in its own record.
type Undelivered struct {
	Notifier string    `json:"notifier"`         // as in Spec.Notify, or Ping
	Since    time.Time `json:"since"`            // when a message first failed, with none since that arrived
	GaveUp   time.Time `json:"gave_up,omitzero"` // when the last message was given up; zero: a message is repeated
	Cause    string    `json:"cause"`            // without secrets
}

// String is the sentence that people read.
func (u Undelivered) String() string {
	if u.GaveUp.IsZero() {
		return fmt.Sprintf("Messages of notifier %s do not arrive, and are repeated: %s.", u.Notifier, u.Cause)
	}
	return fmt.Sprintf("A message of notifier %s was given up: %s.", u.Notifier, u.Cause)
}
