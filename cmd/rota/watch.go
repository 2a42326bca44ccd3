package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/cmd/rota/internal/top"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/spf13/cobra"
)

// addWatch adds the flag that makes a list continue.
func addWatch(cmd *cobra.Command, on *bool) {
	cmd.Flags().BoolVarP(on, "watch", "w", false, "continue: print what changes, until Ctrl-C")
}

// watchedRow is one element of a watched list.
type watchedRow struct {
	key   string // names the element
	data  any    // printed by formats for programs
	cells []any  // the row of the table; its tinted cell is the state
	shown string // what decides whether the element has changed
}

// watchedRows joins the elements of a list with the rows of its table. It returns the header apart.
func watchedRows[T any](table [][]any, list []T, key func(*T) string) (header []any, rows []watchedRow) {
	for i := range list {
		b, _ := json.Marshal(&list[i])
		var shown strings.Builder
		shown.Write(b)
		for _, cell := range table[i+1] {
			if t, ok := cell.(tinted); ok {
				shown.WriteString(" " + t.text)
			}
		}
		rows = append(rows, watchedRow{key(&list[i]), &list[i], table[i+1], shown.String()})
	}
	return table[0], rows
}

// watchList prints a list, and then each element that appears, changes or vanishes, until ctx ends or no replica answers for
// maxOutage. gone is the state of an element that has vanished; "" if that is not worth a line.
func (c *cli) watchList(ctx context.Context, gone string, list func(*page) (header []any, rows []watchedRow, err error)) error {
	var out bytes.Buffer
	var widths []int
	var known map[string]watchedRow
	return c.poll(ctx, func() (read int, err error) {
		p := c.newPage(&out)
		header, rows, err := list(p)
		if err != nil {
			return 0, err
		}
		p.widths = widths
		first := widths == nil && len(rows) > 0
		if p.out.Reset(); first && c.forPeople() {
			for _, row := range rows {
				p.widen(row.cells)
			}
			p.rows([][]any{header})
		}
		now := make(map[string]watchedRow, len(rows))
		for _, row := range rows {
			if now[row.key] = row; known[row.key].shown == row.shown {
				continue
			}
			if err := c.printRow(p, row); err != nil {
				return 0, err
			}
		}
		for key, row := range known {
			if _, present := now[key]; present || gone == "" {
				continue
			}
			for i, cell := range row.cells {
				if _, ok := cell.(tinted); ok {
					row.cells[i] = tinted{gone, yellow}
				}
			}
			if c.forPeople() {
				p.rows([][]any{row.cells})
			}
		}
		known, widths = now, p.widths
		_, err = c.out.Write(out.Bytes())
		return len(rows), err
	})
}

// printRow adds an element to the output: a row of the table, or the data.
func (c *cli) printRow(p *page, row watchedRow) error {
	if c.forPeople() {
		p.rows([][]any{row.cells})
		return nil
	}
	if c.format == formatYAML {
		p.line("---")
	}
	err := c.writeData(p.out, row.data)
	c.headed = true
	return err
}

// watchStatus prints the state of the cluster again when something in it changes that a person should know.
func (c *cli) watchStatus(ctx context.Context, cl *client.Client) error {
	shown := ""
	return c.poll(ctx, func() (int, error) {
		v, err := cl.Cluster(ctx)
		if err != nil {
			return 0, err
		}
		b, err := json.Marshal([]any{v.Ready, v.NotReady, v.Leader, v.Members, v.Attention, v.Paused, v.Quarantined, v.Workers, v.Jobs})
		if err != nil || string(b) == shown {
			return 0, err
		}
		again := shown != ""
		shown = string(b)
		return 0, c.print(v, func(p *page) {
			if again {
				p.line("\n%s", p.tint("At "+stamp(c.now())+":", cyan))
			}
			writeCluster(p, &v)
		})
	})
}

// poll calls look again and again, until ctx ends, or no replica answers for maxOutage. look returns how many rows it has read. An
// error of the first look ends poll at once, and so does an error other than a missing answer.
func (c *cli) poll(ctx context.Context, look func() (rows int, err error)) error {
	c.pageable, c.watching = false, true
	rows, err := look()
	if err != nil {
		return err
	}
	unreachable := time.Time{}
	for sleep(ctx, top.PauseAfter(rows)) == nil {
		rows, err = look()
		switch {
		case ctx.Err() != nil:
		case err == nil:
			unreachable = time.Time{}
		case !passes(err):
			return err
		case unreachable.IsZero():
			unreachable = c.now()
			c.printErr("no answer, still watching: %v", err)
		case c.now().Sub(unreachable) > maxOutage:
			return err
		}
	}
	return context.Cause(ctx)
}
