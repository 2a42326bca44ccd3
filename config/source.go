package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// MaxFile is the size of the largest file that is read, in bytes.
const MaxFile = 4 << 20

// maxExcerptLine is the length of the longest line from which an excerpt is made, in bytes.
const maxExcerptLine = 64 << 10

// source is one text with a name. It makes errors that refer to places in the text.
type source struct {
	name  string
	text  []byte
	lines []string // of text; nil until the first error

	// json is true if the text is a request in JSON. Then its nodes have no line, and their column is an index of places.
	json   bool
	places []place

	// quotes has, for each line, the columns where quotes were added before the text was parsed, in ascending order.
	quotes map[int][]int
}

// quoted records that quotes were added to a line. columns are positions in the changed line.
func (s *source) quoted(line int, columns ...int) {
	if s.quotes == nil {
		s.quotes = map[int][]int{}
	}
	s.quotes[line] = append(s.quotes[line], columns...)
}

// column converts a column of the parsed line into the column of the original line.
func (s *source) column(line, col int) int {
	added := 0
	for _, q := range s.quotes[line] {
		if q < col {
			added++
		}
	}
	return col - added
}

// blame makes an Error at a line and a column, with an excerpt.
func (s *source) blame(line, col int, msg, hint string) *Error {
	col = s.column(line, col)
	e := &Error{File: s.name, Line: line, Col: col, Msg: msg, Hint: hint}
	if s.lines == nil {
		s.lines = strings.Split(string(s.text), "\n")
	}
	if 0 < line && line <= len(s.lines) {
		if text := strings.TrimRight(s.lines[line-1], "\r"); text != "" && len(text) <= maxExcerptLine {
			e.Excerpt = excerpt(text, col)
		}
	}
	return e
}

// newSource returns the source of a text. It refuses a text that is not UTF-8.
func newSource(name string, text []byte) (*source, *Error) {
	s := &source{name: name, text: bytes.TrimPrefix(text, []byte("\ufeff"))}
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, &Error{File: name, Line: 1, Col: 1, Msg: "is UTF-16 text", Hint: "save it as UTF-8"}
	}
	line, start := 1, 0
	refuse := func(at int, msg, hint string) (*source, *Error) {
		return nil, s.blame(line, utf8.RuneCount(s.text[start:at])+1, msg, hint)
	}
	for i := 0; i < len(s.text); {
		r, size := utf8.DecodeRune(s.text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return refuse(i, "is not UTF-8 text", "save it as UTF-8; a binary file does not belong here")
		case r < ' ' && r != '\n' && r != '\r' && r != '\t', r == 0x7f:
			return refuse(i, fmt.Sprintf("control character %U", r), "a binary file does not belong here")
		case r == '\r' && !bytes.HasPrefix(s.text[i:], []byte("\r\n")), r == '\u0085', r == '\u2028', r == '\u2029':
			// YAML counts a new line after these characters, and editors do not.
			return refuse(i, fmt.Sprintf("character %U ends a line in YAML, but in no editor", r),
				"end lines with \\n; in a text write it with a backslash, such as \"\\u2028\"")
		case r == '\n':
			line, start = line+1, i+1
		}
		i += size
	}
	return s, nil
}

// readSource reads a file.
func readSource(path string) (*source, *Error) {
	text, err := readFile(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(text) > MaxFile {
		return nil, &Error{File: path, Msg: fmt.Sprintf("is larger than %d MiB", MaxFile>>20), Hint: "split it into several files"}
	}
	return newSource(path, text)
}

var errIrregular = errors.New("is not a regular file")

// readFile reads a file, up to one byte more than MaxFile. It refuses everything except regular files, because the opening of a
// pipe would wait for a writer.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// unreadable returns an error that explains in plain words why a path cannot be read.
func unreadable(path string, err error) *Error {
	e := &Error{File: path, Unread: true}
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Msg, e.Hint = "does not exist", "check the path; relative paths start at the working directory"
	case errors.Is(err, fs.ErrPermission):
		e.Msg, e.Hint = "may not be read", fmt.Sprintf("give user id %d the right to read it", os.Getuid())
	case errors.Is(err, syscall.ELOOP):
		e.Msg, e.Hint = "is a symbolic link that leads back to itself", "remove the link"
	case errors.As(err, &pathErr):
		e.Msg, e.Hint = "cannot be read: "+pathErr.Err.Error(), "check the path, and the disk that it is on"
	case errors.Is(err, errIrregular):
		e.Msg, e.Hint = err.Error(), "name a file; the commands check, diff and apply read standard input if the path is -"
	default:
		e.Msg, e.Hint = err.Error(), "check the path, and the disk that it is on"
	}
	return e
}

// jobFiles returns the job files in a directory. If path is no directory, it returns the path itself.
func jobFiles(path string) ([]string, *Error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, unreadable(path, err)
	}
	var files []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || !isYAML(name) {
			continue
		}
		// Links count as files, because Kubernetes mounts a ConfigMap as links into a hidden directory.
		file := filepath.Join(path, name)
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			continue
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, &Error{File: path, Msg: "has no job file",
			Hint: "a job file's name ends in .yaml or .yml; directories inside are not searched"}
	}
	return files, nil
}

func isYAML(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".yaml" || ext == ".yml"
}
