//go:build unix && !linux

package cgroups

import (
	"errors"
	"os/exec"
	"runtime"
)

// Tree creates no cgroups, since only Linux has them.
type Tree struct{}

// Group is the cgroup of one process tree: none on this system.
type Group struct{}

var errNone = errors.New("there are no cgroups on this system")

// Open returns a tree without controllers, and an error.
func Open() (*Tree, error) { return &Tree{}, errNone }

// Sweep does nothing.
func Sweep() error { return nil }

func (t *Tree) Close() error                        { return nil }
func (t *Tree) Controllers() []string               { return nil }
func (t *Tree) Make(string, Limits) (*Group, error) { return nil, errNone }
func (g *Group) Start(cmd *exec.Cmd) error          { return cmd.Start() }
func (g *Group) OutOfMemory() bool                  { return false }
func (g *Group) Kill() error                        { return nil }
func (g *Group) Remove() error                      { return nil }

// OnThread calls f on a thread that runs nothing else during the call.
func OnThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}
