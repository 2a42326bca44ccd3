package container

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// Limits lists what containers may use of the engine's machine. A nil *Limits allows everything.
//
// An author writes the definition, but the machine belongs to the operator. Without limits, each author could mount every path
// of the machine, and is root there.
type Limits struct {
	Volumes  []string // patterns of paths or names of volumes, for path.Match
	Networks []string // patterns of networks, for path.Match. The default network of the engine is always allowed.
}

// limitError says that the limits do not allow a container. Another attempt on this machine would fail too.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// check returns a limitError if a container would use more than the limits allow. If the source of a volume is a symbolic link on
// this machine, its target must be allowed too.
func (l *Limits) check(c *job.Container) error {
	if l == nil {
		return nil
	}
	for _, volume := range c.Volumes {
		source, _, _ := strings.Cut(volume, ":")
		if !path.IsAbs(source) {
			if !matches(l.Volumes, source) {
				return &limitError{fmt.Sprintf("volume %s is not in worker.container.volumes", source)}
			}
			continue
		}
		target, err := filepath.EvalSymlinks(source)
		if err != nil {
			target = path.Clean(source) // the worker need not see the files of the engine's machine
		}
		if !matches(l.Volumes, path.Clean(source)) || !matches(l.Volumes, target) {
			return &limitError{fmt.Sprintf("volume %s is not in worker.container.volumes", source)}
		}
	}
	if c.Network != "" && !matches(l.Networks, c.Network) {
		return &limitError{fmt.Sprintf("network %s is not in worker.container.networks", c.Network)}
	}
	return nil
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}
