package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rota-scheduler/rota/scheduler/api"
	"github.com/rota-scheduler/rota/scheduler/api/client"
	"github.com/rota-scheduler/rota/scheduler/job"
)

func newAuditCommand(c *cli) *cobra.Command {
	var (
		filter client.AuditFilter
		since  string
		limit  int
	)
	cmd := &cobra.Command{
		Use:   "audit [JOB]",
		Short: "List who changed what, latest first",
		Long: `List the changes by clients: definitions, pauses, runs by hand, cancellations, retries, tokens, and accepted
stores. Each change and its record are written by one transaction of the store. The cluster keeps 10,000 records, for 90
days.`,
		Example: `  rota audit nightly-backup
  rota audit --since 7d --by alice -o json`,
		Args:              takes("[JOB]"),
		ValidArgsFunction: c.completeJobs,
		RunE: c.reading(func(ctx context.Context, cl *client.Client, args []string) (err error) {
			if len(args) > 0 {
				filter.Job = args[0]
			}
			if filter.Since, err = c.sinceTime(since); err != nil {
				return err
			}
			if filter.Limit, err = pageLimit(limit); err != nil {
				return err
			}
			records, more, err := collect(limit, func(next string) ([]api.AuditView, string, error) {
				list, err := cl.Audit(ctx, filter, next)
				return list.Records, list.Continue, err
			})
			if err != nil {
				return err
			}
			if more {
				c.printErr("note: there are more records; use --limit %d, or --limit 0 for all", 4*limit)
			}
			return c.print(api.AuditList{Records: records}, func(p *page) { writeAudit(p, records) })
		}),
	}
	addSince(cmd, &since, "only changes since a time, or since a span ago (24h, 7d)")
	cmd.Flags().StringVar(&filter.By, "by", "", "only changes by this `principal`, or by a client that claimed this name")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of records; 0 for all")
	return cmd
}

func writeAudit(p *page, records []api.AuditView) {
	if len(records) == 0 {
		p.line("no records")
		return
	}
	header := []any{"AT", "BY", "VERB", "OBJECT"}
	if p.wide {
		header = append(header, "HOW", "TOKEN", "FROM", "CLAIMED", "BEFORE", "AFTER", "REQUEST")
	}
	rows := [][]any{append(header, "FIELDS")}
	for i := range records {
		a := &records[i]
		row := []any{p.when(a.At), authorText(&a.Author), a.Verb, objectOf(&a.Audit)}
		if p.wide {
			row = append(row, a.How, a.Token, a.Remote, a.Claimed, numberOrEmpty(a.Before), a.Revision, a.Request)
		}
		rows = append(rows, append(row, p.shortened(fieldsText(a.Fields))))
	}
	p.table(rows)
}

// authorText names the author of a change. A name in parentheses is only claimed.
func authorText(a *job.Author) string {
	if a.Claimed == "" {
		return a.Principal
	}
	return fmt.Sprintf("%s (%s)", a.Principal, a.Claimed)
}

// objectOf names the record that changed: "job backup". A kind with one record has no name.
func objectOf(a *job.Audit) string {
	return strings.TrimSpace(strings.TrimSuffix(string(a.Kind), "s") + " " + a.Object)
}

// fieldsText names the fields that changed. A + stands before a new field, and a - before a removed one.
func fieldsText(fields []job.FieldChange) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		switch names[i] = f.Name; {
		case f.Before == "" && f.After != "":
			names[i] = "+" + f.Name
		case f.Before != "" && f.After == "":
			names[i] = "-" + f.Name
		}
	}
	return strings.Join(names, " ")
}

func numberOrEmpty(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
