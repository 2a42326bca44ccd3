package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// maxDepth is how many levels a file may nest.
const maxDepth = 64

// maxMends is how many values of one file get missing quotes added.
const maxMends = 50

// documents returns the roots of the YAML documents of a source, without empty ones. Aliases and merge keys are replaced by the
// values that they refer to.
//
// If YAML cannot read a value because its quotes are missing, such as */5 * * * *, documents reports this and adds the quotes. So
// it can check the rest of the file too. After any other mistake in the syntax, it does not read the rest.
func documents(src *source, c *collector) []*yaml.Node {
	text := src.text
	for mends := 0; ; mends++ {
		roots, err := parse(text)
		if err == nil || mends == maxMends {
			return expand(src, c, roots)
		}
		line, col, msg := where(err, text)
		mended, m := mend(text, line, col)
		if mended == nil {
			c.add(src.blame(line, col, msg, syntaxHint(src, line, msg)))
			return expand(src, c, roots)
		}
		c.add(src.blame(line, m.start, "value needs quotes: YAML gives its first character another meaning", "write "+quote(m.value)))
		src.quoted(line, m.start, m.start+utf8.RuneCountInString(m.value)+1)
		text = mended
	}
}

// version12 matches the directive of YAML 1.2 at the beginning of a file. The library reads YAML 1.2, but knows only that of 1.1.
var version12 = regexp.MustCompile(`\A((?:[ \t]*(?:#[^\n]*)?\r?\n)*%YAML[ \t]+1\.)2\b`)

// parse returns the documents before the first mistake, and that mistake.
func parse(text []byte) ([]*yaml.Node, error) {
	text = version12.ReplaceAll(text, []byte("${1}1"))
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, err
	}
	var roots []*yaml.Node
	for {
		var doc yaml.Node
		switch err := loader.Load(&doc); {
		case errors.Is(err, io.EOF):
			return roots, nil
		case err != nil:
			return roots, err
		}
		if len(doc.Content) == 0 || isNull(doc.Content[0]) {
			continue
		}
		roots = append(roots, doc.Content[0])
	}
}

// where returns the place and the reason of an error of the YAML library.
func where(err error, text []byte) (line, col int, msg string) {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return 0, 0, "is not YAML: " + err.Error()
	}
	line, col, msg = e.Mark.Line, e.Mark.Column, e.Message
	// If the end of a quote or bracket is missing, report the place where it begins.
	if e.ContextMark.Line > 0 && (strings.Contains(msg, "unexpected end of stream") || strings.Contains(e.ContextMsg, "alias") ||
		strings.Contains(e.ContextMsg, "anchor") || strings.Contains(e.ContextMsg, "flow")) {
		line, col = e.ContextMark.Line, e.ContextMark.Column
	}
	if e.ContextMsg != "" {
		msg = e.ContextMsg + ": " + msg
	}
	// If something is missing at the end of the file, report the end of the last text.
	if lines := strings.Split(strings.TrimRight(string(text), " \t\r\n"), "\n"); line > len(lines) {
		line, col = len(lines), utf8.RuneCountInString(lines[len(lines)-1])+1
		msg += ": the file ends too early"
	}
	return line, max(col, 1), "is not YAML: " + msg
}

// syntaxHint returns a hint for a mistake that people often make in YAML.
func syntaxHint(src *source, line int, msg string) string {
	lines := strings.Split(string(src.text), "\n")
	text, before := "", ""
	if 0 < line && line <= len(lines) {
		text, before = lines[line-1], lines[max(0, line-2)]
	}
	switch {
	case unitSection.MatchString(lines[0]):
		return "for a unit of systemd, use `rota import systemd FILE`"
	case cronLine.MatchString(text):
		return "for a crontab, use `rota import crontab FILE`"
	case strings.HasPrefix(lines[0], "%") && !strings.Contains(string(src.text), "\n---"):
		return "write a line --- after the lines that begin with %"
	case strings.Contains(msg, "mapping values are not allowed") && noSpace.MatchString(before):
		return "a space is missing after the colon of the line before"
	case strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t"):
		return "indent with spaces: YAML does not allow tabs"
	case strings.Contains(msg, "mapping values are not allowed"):
		return "a value that contains \": \" needs quotes; or the line is indented too far"
	case strings.Contains(msg, "quoted scalar"):
		return "the closing quote is missing"
	case strings.Contains(msg, "flow sequence"):
		return "the closing ] or a comma is missing"
	case strings.Contains(msg, "flow mapping"):
		return "the closing } or a comma is missing; quote values that contain { } [ ] or ,"
	case strings.Contains(msg, "unknown anchor"):
		return "a value that begins with * needs quotes"
	case strings.Contains(msg, "incompatible YAML"):
		return "write %YAML 1.2, or remove the line"
	case strings.Contains(msg, "max depth"):
		return fmt.Sprintf("at most %d levels are allowed", maxDepth)
	case strings.Contains(msg, "did not find expected key"), strings.Contains(msg, "did not find expected <document start>"),
		strings.Contains(msg, "did not find expected '-'"):
		return "check the indentation of this line and of the one before; a quote inside quotes is written twice"
	}
	return "check the quotes, brackets and indentation of this line and of the one before"
}

var (
	unitSection = regexp.MustCompile(`^\[[A-Z][A-Za-z]+\]\s*$`) // such as [Timer]
	cronLine    = regexp.MustCompile(`^[\d*][\d*/,-]*\s+([\w*/,-]+\s+){4}\S`)
	noSpace     = regexp.MustCompile(`^\s*\w+:[^\s/]`) // such as schedule:"@daily"; a URL has a slash
)

// unquotedStart matches the first characters of a value that needs quotes in YAML. The other two match the whole value. Outside
// of brackets it ends at a comment or at the end of the line, inside of brackets at a comma or the closing bracket.
var (
	unquotedStart = regexp.MustCompile("(?:[:,-]\\s+|[\\[{]\\s*)([*@`%&])")
	unquotedBlock = regexp.MustCompile(`^[^"']*?(?:\s+#|\s*$)`)
	unquotedFlow  = regexp.MustCompile(`^[^"',\]}]*`)
)

// unquoted is a value whose quotes are missing, and the column where it begins.
type unquoted struct {
	value string
	start int
}

// mend puts quotes around the value that the parser refused at line and col. It returns nil if the mistake is not a lack of
// quotes.
func mend(text []byte, line, col int) ([]byte, unquoted) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return nil, unquoted{}
	}
	runes := []rune(string(lines[line-1]))
	until := string(runes[:min(col, len(runes))])
	starts := unquotedStart.FindAllStringSubmatchIndex(until, -1)
	if len(starts) == 0 {
		return nil, unquoted{}
	}
	at := starts[len(starts)-1][2]
	before, rest := until[:at], strings.TrimRight(string(lines[line-1])[at:], "\r\n")
	pattern := unquotedBlock
	if strings.Count(before, "[") > strings.Count(before, "]") || strings.Count(before, "{") > strings.Count(before, "}") {
		pattern = unquotedFlow
	}
	value := strings.TrimSpace(strings.TrimSuffix(pattern.FindString(rest), "#"))
	switch {
	case value == "", strings.HasSuffix(value, ":"), strings.Contains(value, ": "), strings.ContainsAny(value, `"\`),
		strings.ContainsAny(value[:1], "*&") && !cronLike.MatchString(value):
		return nil, unquoted{}
	}
	lines[line-1] = []byte(before + `"` + value + `"` + rest[len(value):] + "\n")
	return bytes.Join(lines, nil), unquoted{value, utf8.RuneCountInString(before) + 1}
}

// cronLike matches a cron expression without quotes. It does not match a reference to an anchor.
var cronLike = regexp.MustCompile(`^\*(/\d|\s+[*?\dHL]|,|$)`)

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
