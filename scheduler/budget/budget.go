package budget

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/template"
)

// Errors that end a template.
var (
	ErrBytes = errors.New("the template makes too much text")
	ErrSteps = errors.New("the template has too many repetitions")
	errWidth = errors.New("printf pads a value to at most 999 characters")
)

// stepFunc is the template function that counts repetitions.
const stepFunc = "rotaStep"

// Budget is what one execution of a template may still take. It must not be used by two goroutines.
type Budget struct {
	bytes, steps int
}

// New returns a budget of bytes, which functions return and the template writes, and of repetitions.
func New(bytes, steps int) *Budget { return &Budget{bytes, steps} }

// Functions returns the functions that replace those of text/template. A template needs them when it is parsed, too; then a budget
// of zero is enough.
func (b *Budget) Functions() template.FuncMap {
	return template.FuncMap{
		"print":    b.printer(fmt.Sprint),
		"println":  b.printer(fmt.Sprintln),
		"printf":   b.printf,
		"html":     b.escaper(template.HTMLEscaper),
		"js":       b.escaper(template.JSEscaper),
		"urlquery": b.escaper(template.URLQueryEscaper),
		stepFunc:   b.step,
	}
}

// growth is the greatest number of bytes that a function makes of one byte: printf with %+q, for one.
const growth = 12

// spend takes the bytes of a text.
func (b *Budget) spend(text string) (string, error) {
	if b.bytes -= len(text); b.bytes < 0 {
		return "", ErrBytes
	}
	return text, nil
}

// fits returns an error if arguments are so long that the text of them cannot be paid.
func (b *Budget) fits(each, growth int, args []any) error {
	size := 0
	for _, a := range args {
		if text, ok := a.(string); ok {
			size += len(text)
		} else {
			size += len(fmt.Sprint(a))
		}
		if size*growth*each > b.bytes {
			return ErrBytes
		}
	}
	return nil
}

func (b *Budget) printer(print func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		if err := b.fits(1, 1, args); err != nil {
			return "", err
		}
		return b.spend(print(args...))
	}
}

func (b *Budget) escaper(escape func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		if err := b.fits(1, growth, args); err != nil {
			return "", err
		}
		return b.spend(escape(args...))
	}
}

// Pay returns a function that pays for the texts of make, which may make growth bytes of one byte of its argument.
func (b *Budget) Pay(growth int, make func(any) (string, error)) func(any) (string, error) {
	return func(v any) (string, error) {
		if err := b.fits(1, growth, []any{v}); err != nil {
			return "", err
		}
		text, err := make(v)
		if err != nil {
			return "", err
		}
		return b.spend(text)
	}
}

// wide matches a verb of printf that pads its value to any width.
var wide = regexp.MustCompile(`%[^%a-zA-Z]*(\*|\d{4})`)

func (b *Budget) printf(format string, args ...any) (string, error) {
	if wide.MatchString(format) {
		return "", errWidth
	}
	verbs := strings.Count(format, "%")
	if len(format)+1000*verbs > b.bytes {
		return "", ErrBytes
	}
	if err := b.fits(max(verbs, 1), growth, args); err != nil {
		return "", err
	}
	return b.spend(fmt.Sprintf(format, args...))
}

func (b *Budget) step() (string, error) {
	if b.steps--; b.steps < 0 {
		return "", ErrSteps
	}
	return "", nil
}

// Writer returns a writer that takes the bytes from the budget.
func (b *Budget) Writer(to io.Writer) io.Writer { return &writer{b, to} }

type writer struct {
	*Budget

	to io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	if w.bytes -= len(p); w.bytes < 0 {
		return 0, ErrBytes
	}
	return w.to.Write(p)
}
