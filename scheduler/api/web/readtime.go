package web

import (
	"errors"
	"strings"
	"time"
)

// timeExample is an instant in the form that fields accept.
const timeExample = "2026-01-31T02:30:00Z"

// timeForms are the other forms that fields accept. The page itself writes times in the first two of them.
var timeForms = []string{"2006-01-02 15:04:05.999", "2006-01-02 15:04", "2006-01-02T15:04:05.999", "2006-01-02T15:04"}

// askTime returns the parameter of a request for a time that a person has typed: RFC 3339, or else the text itself, such as a span.
func askTime(text string) string {
	if t, err := readTime(text); err == nil {
		return t.Format(time.RFC3339Nano)
	}
	return text
}

// readTime reads a time that a person has typed or copied from the page. A time without a zone is in UTC.
func readTime(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	t, err := time.Parse(time.RFC3339, text)
	for _, form := range timeForms {
		if err == nil {
			break
		}
		t, err = time.Parse(form, strings.TrimSuffix(text, " UTC"))
	}
	if t = t.UTC(); err == nil && (t.Year() < 1 || t.Year() > 9999) {
		err = errors.New("lies outside of the years 1 to 9999 in UTC") // no request can hold it
	}
	return t, err
}
