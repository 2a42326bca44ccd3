package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/term"
)

// show writes a text to stdout. If stdout is a terminal and the text is longer than its screen, a pager shows it.
func (c *cli) show(text []byte) error {
	if argv := c.pager(); len(argv) > 0 && bytes.Count(text, []byte("\n")) >= screenHeight(c.out) {
		if c.runPager(argv, text) {
			return nil
		}
	}
	_, err := c.out.Write(text)
	return err
}

// screenHeight returns the number of lines of a terminal, a very large one if it is unknown.
func screenHeight(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if _, height, err := term.GetSize(int(f.Fd())); err == nil && height > 0 {
			return height
		}
	}
	return 1 << 30
}

// pager returns the command line of the pager: of ROTA_PAGER, of PAGER, or less. It returns nil if no pager is to be used: stdin
// or stdout is not a terminal, or the variable is set to nothing or to cat.
func (c *cli) pager() []string {
	if !isTerminal(c.out) || !isTerminal(c.in) || c.getenv("TERM") == "dumb" {
		return nil
	}
	for _, name := range []string{"ROTA_PAGER", "PAGER"} {
		if c.hasEnv(name) {
			argv := strings.Fields(c.getenv(name))
			if len(argv) == 1 && argv[0] == "cat" {
				return nil
			}
			return argv
		}
	}
	return []string{"less"}
}

// hasEnv reports whether an environment variable is set, even to nothing.
func (c *cli) hasEnv(name string) bool {
	return slices.ContainsFunc(c.environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// runPager shows the text in a pager and waits until the person leaves it. It reports whether the pager could be started. A pager
// that ends before it has read all of the text is no error.
func (c *cli) runPager(argv []string, text []byte) bool {
	// The pager gets Ctrl-C from the terminal, and decides itself what it means.
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), c.out, c.err
	cmd.Env = c.environ
	if !c.hasEnv("LESS") {
		cmd.Env = append(slices.Clone(c.environ), "LESS=FRX") // leave if all fits on the screen, show colors, keep the text
	}
	if err := cmd.Start(); err != nil {
		return false // the caller prints the text itself
	}
	_ = cmd.Wait()
	return true
}
