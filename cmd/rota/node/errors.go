package node

import (
	"fmt"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
)

// ConfigError is a mistake in the settings, or in what they name. A restart does not help.
type ConfigError = failure.ConfigError

// IsConfig reports whether err is or wraps a ConfigError.
func IsConfig(err error) bool { return failure.IsConfig(err) }

// NameTakenError means that another process has this node's name. Two processes of one name would take each other's runs away. Run
// returns it inside a ConfigError.
type NameTakenError struct {
	Name string
	Addr string // of the other process; "": it advertises the same address, as a clone of a machine does
}

func (e *NameTakenError) Error() string {
	if e.Addr == "" {
		return fmt.Sprintf("node name %s is held by another process, which takes its place again and again", e.Name)
	}
	return fmt.Sprintf("node name %s is held by the process at %s", e.Name, e.Addr)
}
