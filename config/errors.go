package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is one mistake in a file or in a setting.
type Error struct {
	File    string // file name as the caller gave it; or the environment variable or flag of a setting.
	Line    int    // from 1; 0 if the mistake has no line.
	Col     int    // in characters, from 1; 0 if the mistake has no column.
	Msg     string // what is wrong.
	Hint    string // how to correct it.
	Excerpt string // the line, and a caret below it; may be empty.
	Path    string // the key of a request, such as retry.max; empty for the request as a whole and for files.
	Unread  bool   // the file could not be read; a later try may succeed although the file is the same
	Large   bool   // the value is larger than the store or a program accepts
}

// Error returns the mistake with its excerpt and its hint, on several lines.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.position())
	b.WriteString(": ")
	b.WriteString(e.Msg)
	if e.Excerpt != "" {
		line, caret, _ := strings.Cut(e.Excerpt, "\n")
		fmt.Fprintf(&b, "\n%5d | %s", e.Line, line)
		if caret != "" {
			fmt.Fprintf(&b, "\n      | %s", caret)
		}
	}
	if e.Hint != "" {
		b.WriteString("\n   hint: ")
		b.WriteString(e.Hint)
	}
	return b.String()
}

func (e *Error) position() string {
	switch {
	case e.Line == 0:
		return e.File
	case e.Col == 0:
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Col)
}

// Errors lists every mistake, by file and position. A function never returns empty Errors.
type Errors []*Error

// Error returns the texts of all mistakes, each in the form of [Error.Error].
func (e Errors) Error() string {
	parts := make([]string, len(e))
	for i, err := range e {
		parts[i] = err.Error()
	}
	return strings.Join(parts, "\n")
}

// IsUnread reports whether err includes a file that could not be read.
func IsUnread(err error) bool {
	var all Errors
	return errors.As(err, &all) && slices.ContainsFunc(all, func(e *Error) bool { return e.Unread })
}

// Unwrap lets errors.As reach each mistake.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, err := range e {
		list[i] = err
	}
	return list
}

// maxErrors is how many mistakes of one load are kept. A hostile file could have millions.
const maxErrors = 1000

// collector collects mistakes. It keeps only one of several equal mistakes at the same place, because defaults are read again for
// each job.
type collector struct {
	errs    Errors
	seen    map[Error]bool
	found   int // number of all mistakes, including those that were not kept
	dropped bool
	most    int // how many are kept; 0: maxErrors
}

func (c *collector) add(e *Error) {
	c.found++
	e.Msg, e.Hint = bounded(e.Msg, 1500), bounded(e.Hint, 700)
	if c.seen[*e] {
		return
	}
	if c.full() {
		return
	}
	if c.seen == nil {
		c.seen = map[Error]bool{}
	}
	c.seen[*e] = true
	c.errs = append(c.errs, e)
}

// full reports whether the collector can keep no more mistakes. If so, it also records that there is at least one more.
func (c *collector) full() bool {
	full := len(c.errs) >= cmp.Or(c.most, maxErrors)
	c.dropped = c.dropped || full
	return full
}

// err returns the mistakes as Errors; nil if there are none. Mistakes of several files come in the order in which the files were
// read.
func (c *collector) err() error {
	if len(c.errs) == 0 {
		return nil
	}
	order := map[string]int{}
	for _, e := range c.errs {
		if _, ok := order[e.File]; !ok {
			order[e.File] = len(order)
		}
	}
	slices.SortStableFunc(c.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	if c.dropped {
		last := c.errs[len(c.errs)-1]
		msg := fmt.Sprintf("more than %d mistakes: the others are not shown", cmp.Or(c.most, maxErrors))
		return append(c.errs, &Error{File: last.File, Msg: msg, Hint: "mend these first"})
	}
	return c.errs
}

// bounded shortens a sentence that repeats a long value: a list of enum, for example.
func bounded(sentence string, most int) string {
	if len(sentence) <= most {
		return sentence
	}
	return strings.ToValidUTF8(sentence[:most], "") + "…"
}

// quote returns a value in quotes for a message. It shortens a long value.
func quote(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) > most {
		return fmt.Sprintf("%q…", string([]rune(s[:min(len(s), 4*most)])[:most]))
	}
	return fmt.Sprintf("%q", s)
}

// excerpt returns a line of text with a caret below its col-th character. It shortens a long line to the text near col.
func excerpt(line string, col int) string {
	const width = 120
	runes := []rune(line)
	col = max(1, min(col, len(runes)+1))
	from, to := 0, len(runes)
	if to > width {
		from = max(0, min(col-1-width/2, to-width))
		to = from + width
	}
	var text, caret strings.Builder
	mark := func(s string) {
		text.WriteString(s)
		caret.WriteString(" ")
	}
	if from > 0 {
		mark("…")
	}
	for i, r := range runes[from:to] {
		switch {
		case r == '\t': // a tab stays in the line of the caret, so that both lines are aligned
		case unicode.IsControl(r), r == utf8.RuneError:
			r = '·'
		}
		text.WriteRune(r)
		if from+i < col-1 {
			if r != '\t' {
				r = ' '
			}
			caret.WriteRune(r)
		}
	}
	if to < len(runes) {
		text.WriteString("…")
	}
	return text.String() + "\n" + caret.String() + "^"
}
