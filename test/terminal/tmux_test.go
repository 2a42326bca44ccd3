package terminal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/test/cluster"
	"github.com/rota-scheduler/rota/test/lacking"
)

// screen is a terminal of tmux in which one command runs.
type screen struct {
	t      *testing.T
	socket string
	env    []string // of tmux, which the command inherits
}

// newScreen starts a command in a terminal. The terminal outlives the command, so that its last words can be read.
func newScreen(t *testing.T, width, height int, env []string, argv ...string) *screen {
	t.Helper()
	lacking.Program(t, "tmux", "tmux")
	env = append(env, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "HOME="+t.TempDir(), "HISTFILE=/dev/null")
	s := &screen{t, filepath.Join(t.TempDir(), "tmux"), env}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height)}
	s.tmux(append(args, argv...)...)
	s.tmux("set-option", "-g", "remain-on-exit", "on")
	t.Cleanup(func() { _ = s.command("kill-server").Run() })
	return s
}

func (s *screen) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", s.socket}, args...)...)
	cmd.Env = append(os.Environ(), s.env...)
	return cmd
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// keys presses keys, by their names in tmux.
func (s *screen) keys(names ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, names...)...)
}

func (s *screen) text() string { return s.tmux("capture-pane", "-p") }

// await waits until the screen shows all texts, except those that begin with !, which it must not show.
func (s *screen) await(what string, texts ...string) {
	s.t.Helper()
	var last string
	if !cluster.Within(20*time.Second, func() bool {
		last = s.text()
		for _, text := range texts {
			if absent, not := strings.CutPrefix(text, "!"); strings.Contains(last, absent) == not {
				return false
			}
		}
		return true
	}) {
		s.t.Fatalf("%s: the screen does not show %q:\n%s", what, texts, last)
	}
}

// dead reports whether the command has ended.
func (s *screen) dead() bool {
	return strings.TrimSpace(s.tmux("list-panes", "-F", "#{pane_dead}")) == "1"
}
