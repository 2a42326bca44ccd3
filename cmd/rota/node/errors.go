package node

import (
	"fmt"

	"github.com/rota-scheduler/rota/cmd/rota/internal/failure"
)

// ConfigError is a mistake in the settings, or in a file or address that they name. A restart does not help.
type ConfigError = failure.ConfigError

// IsConfig reports whether err is or wraps a ConfigError.
func IsConfig(err error) bool { return failure.IsConfig(err) }

// NameTakenError means that another process has the name of this node. Two processes with one name would take each other's runs.
// Run returns this error inside a ConfigError.
type NameTakenError struct {
	Name string
	Addr string // address of the other process; "": the other process advertises the same address, as the clone of a machine does
}

func (e *NameTakenError) Error() string {
	if e.Addr == "" {
		return fmt.Sprintf("node name %s is held by another process, which takes its place again and again", e.Name)
	}
	return fmt.Sprintf("node name %s is held by the process at %s", e.Name, e.Addr)
}
