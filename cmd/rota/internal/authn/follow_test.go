package authn

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/config"
	"github.com/rota-scheduler/rota/scheduler/api/auth"
	"github.com/rota-scheduler/rota/test/files"
)

// follow opens an auth.file with the role viewer for alice, and follows it for the time of the test.
func follow(t *testing.T, log hclog.Logger) (a *Authenticator, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "auth.yaml")
	files.Write(t, path, "bindings: [{principal: alice, role: viewer}]\n")
	a, err := Open(path, time.Now, log)
	if err != nil {
		t.Fatal(err)
	}
	return a, path
}

// run follows the file until the test ends.
func (a *Authenticator) run(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }() // the cleanup waits for it
	t.Cleanup(func() { stop(); <-done })
}

// role returns the role of alice.
func (a *Authenticator) role() auth.Role { return a.known.Load().File.Bindings[0].Role }

// TestAFileThatCouldNotBeReadIsReadAgain lets reads fail without a change of the file, as before a chown or while the process has no
// file descriptors.
func TestAFileThatCouldNotBeReadIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		a, path := follow(t, hclog.New(&hclog.LoggerOptions{Output: &lines}))
		var fails atomic.Bool
		a.load = func(path string) (auth.File, error) {
			if fails.Load() {
				return auth.File{}, config.Errors{{File: path, Msg: "may not be read", Unread: true}}
			}
			return load(path)
		}
		fails.Store(true)
		files.Write(t, path, "bindings: [{principal: alice, role: admin}]\n")
		a.run(t)
		<-time.After(10 * poll)
		synctest.Wait()
		if a.Mistake() == nil || a.role() != "viewer" {
			t.Errorf("while the file cannot be read: mistake %v, role %s", a.Mistake(), a.role())
		}
		fails.Store(false)
		<-time.After(2 * poll)
		synctest.Wait()
		if a.Mistake() != nil || a.role() != "admin" {
			t.Errorf("after that: mistake %v, role %s", a.Mistake(), a.role())
		}
		if n := strings.Count(lines.String(), "auth.file has mistakes"); n != 1 {
			t.Errorf("the same failure was logged %d times", n)
		}
	})
}

// TestAFileWithTheSameTimeIsNoticed gives the file another content of the same size and time, as with Nix or OSTree.
func TestAFileWithTheSameTimeIsNoticed(t *testing.T) {
	for name, replace := range map[string]func(path, next string) error{
		"another file takes its place": os.Rename,
		"it is written in place": func(path, next string) error {
			text, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(next, text, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, path := follow(t, hclog.NewNullLogger())
				info, err := os.Stat(path)
				before := stateOf(path)
				// Older kernels change the third time of a file, ctime, only once per tick. The clock of the bubble stands still here.
				for tries := 0; stateOf(path) == before; tries++ {
					err = errors.Join(err,
						os.WriteFile(path+".new", []byte("bindings: [{principal: alice, role: admin }]\n"), 0o600),
						replace(path+".new", path), os.Chtimes(path, info.ModTime(), info.ModTime()))
					if err != nil || tries > 100_000 {
						t.Fatalf("%v, after %d tries", err, tries)
					}
				}
				a.run(t)
				<-time.After(2 * poll)
				synctest.Wait()
				if a.role() != "admin" {
					t.Errorf("got the role %s of the old text", a.role())
				}
			})
		})
	}
}
