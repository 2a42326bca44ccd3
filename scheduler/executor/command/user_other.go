//go:build unix && !linux

package command

import (
	"os"
	"os/exec"
)

// missingCapabilities reports whether this process is not root: other systems have no capabilities.
func missingCapabilities() []string {
	if os.Geteuid() != 0 {
		return []string{"root"}
	}
	return nil
}

// startAs calls start, which starts cmd.
func startAs(cmd *exec.Cmd, start func(*exec.Cmd) error) error { return start(cmd) }
