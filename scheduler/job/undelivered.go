package job

import (
	"fmt"
	"time"
)

// Pings stands for the service that gets pings where a notifier is named. No notifier can have it, because of its capital letter.
const Pings = "Ping"

// Undelivered is a notifier whose messages do not arrive. The leader publishes it in its own record.
type Undelivered struct {
	Notifier string    `json:"notifier"`         // as in Spec.Notify, or Pings
	Since    time.Time `json:"since"`            // when a message first failed, with none since that arrived
	GaveUp   time.Time `json:"gave_up,omitzero"` // when the last message was given up; zero: a message is repeated
	Cause    string    `json:"cause"`            // without secrets
}

// String is the sentence that people read.
func (u Undelivered) String() string {
	switch {
	case u.Notifier == Pings && u.GaveUp.IsZero():
		return "Pings do not arrive, and are repeated: " + u.Cause + "."
	case u.Notifier == Pings:
		return "A ping was given up: " + u.Cause + "."
	case u.GaveUp.IsZero():
		return fmt.Sprintf("Messages of notifier %s do not arrive, and are repeated: %s.", u.Notifier, u.Cause)
	}
	return fmt.Sprintf("A message of notifier %s was given up: %s.", u.Notifier, u.Cause)
}
