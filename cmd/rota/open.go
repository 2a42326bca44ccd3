package main

import (
	"bytes"
	"context"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/scheduler/api/client"
)

func newOpenCommand(c *cli) *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the page of the cluster in a browser, signed in",
		Long: `Open the page of the cluster in a browser. The browser is signed in with the rights of this command. The link that does
so works once, within five minutes.`,
		Example: "  rota open\n  rota open --print",
		Args:    takes(),
		RunE: c.changing(func(ctx context.Context, cl *client.Client, _ []string) error {
			code, err := cl.LoginCode(ctx)
			if err != nil {
				return err
			}
			link := cl.Answering() + code.Path
			if strings.HasPrefix(link, "unix:") {
				return usageError{"a browser cannot open a Unix socket", "name the URL of the server with --server, and a token"}
			}
			if printOnly {
				return c.printLink(link)
			}
			once := ", which works once, within five minutes"
			if !strings.Contains(code.Path, "code=") { // nobody signs in to this cluster
				once = ""
			}
			if err := c.browse(ctx, link); err != nil {
				c.printErr("no browser was opened (%v): open this link%s", err, once)
			} else {
				c.printErr("a browser was opened; if it shows nothing, open this link%s", once)
			}
			return c.printLink(link)
		}),
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the link, and open no browser")
	return cmd
}

// printLink prints a link to the page. As data, it is {"url": "…"}.
func (c *cli) printLink(url string) error {
	return c.print(map[string]string{"url": url}, func(p *page) { p.line("%s", url) })
}

// redirect leads a browser to a link.
var redirect = template.Must(template.New("open").Parse(
	`<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={{.}}">` +
		`<title>rota</title><a href="{{.}}">rota</a>` + "\n"),
)

// browse opens a browser at a link. It passes a file that only this user can read, because every user of the machine can see the
// arguments of a process.
func (c *cli) browse(ctx context.Context, link string) error {
	opener, err := exec.LookPath(map[string]string{"darwin": "open", "windows": "explorer"}[runtime.GOOS])
	if runtime.GOOS == "linux" {
		opener, err = exec.LookPath("xdg-open")
	}
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := redirect.Execute(&page, link); err != nil {
		return err
	}
	dir := c.stateDir()
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "open-*.html") // only its owner can read it
	if err != nil {
		return err
	}
	if _, err := file.Write(page.Bytes()); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	c.removeOldPages(dir, file.Name())
	return exec.CommandContext(ctx, opener, file.Name()).Run()
}

// removeOldPages removes the pages of earlier calls. The page of this call must stay until the browser has read it.
func (c *cli) removeOldPages(dir, except string) {
	pages, _ := filepath.Glob(filepath.Join(dir, "open-*.html")) // the pattern is well formed
	for _, page := range pages {
		if page != except {
			_ = os.Remove(page) // it is another user's, if this fails
		}
	}
}
