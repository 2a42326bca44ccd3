package extract

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"k8s.io/client-go/util/jsonpath"
)

// none stands in a column for a value that is missing.
const none = "<none>"

// gap separates columns.
const gap = 3

// column is one column of a table.
type column struct {
	header string
	path   *jsonpath.JSONPath
}

// columns are the columns of a table with one row for each element.
type columns []column

func parseColumns(spec string) (printFunc, error) {
	var list columns
	for part := range strings.SplitSeq(spec, ",") {
		header, expr, ok := strings.Cut(part, ":")
		if !ok || strings.TrimSpace(header) == "" || strings.TrimSpace(expr) == "" {
			return nil, fmt.Errorf("custom-columns: %q is not HEADER:EXPRESSION", part)
		}
		p, err := compile(expr)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", header, err)
		}
		list = append(list, column{strings.TrimSpace(header), p})
	}
	return list.print, nil
}

func (c columns) print(to io.Writer, d document) (err error) {
	rows := make([][]string, 1, len(d.items)+1)
	for _, col := range c {
		rows[0] = append(rows[0], col.header)
	}
	for _, item := range d.items {
		row := make([]string, len(c))
		for i, col := range c {
			if row[i], err = col.value(item); err != nil {
				return fmt.Errorf("column %s: %w", col.header, err)
			}
		}
		rows = append(rows, row)
	}
	_, err = to.Write(align(rows))
	return err
}

// value returns the values that the column finds in an element, separated by commas.
func (c column) value(item any) (string, error) {
	found, err := c.path.FindResults(item)
	if err != nil {
		return "", err
	}
	var values []string
	for _, set := range found {
		for _, v := range set {
			if !v.IsValid() || !v.CanInterface() || v.Interface() == nil {
				continue
			}
			values = append(values, text(v.Interface()))
		}
	}
	if len(values) == 0 {
		return none, nil
	}
	return strings.Join(values, ","), nil
}

// text formats one value: an object or a list as JSON.
func text(v any) string {
	switch v.(type) {
	case map[string]any, []any:
		if b, err := asJSON(v); err == nil {
			return b
		}
	}
	return strings.Join(strings.Fields(fmt.Sprint(v)), " ")
}

func align(rows [][]string) []byte {
	var out bytes.Buffer
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], displaywidth.String(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			out.WriteString(cell)
			if i < len(row)-1 {
				out.WriteString(strings.Repeat(" ", widths[i]-displaywidth.String(cell)+gap))
			}
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}
