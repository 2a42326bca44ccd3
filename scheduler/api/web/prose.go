package web

import (
	"html/template"
	"regexp"
	"strings"
	"time"
)

// instants finds times in sentences. A time that is part of the name of a run follows a slash, and is not found.
var instants = regexp.MustCompile(`(^|[\s(])(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z)`)

// proseTag shows sentences of the replica. Their times in UTC become times in the zone of the viewer.
func proseTag(text string) template.HTML {
	var b strings.Builder
	end := 0
	for _, m := range instants.FindAllStringSubmatchIndex(text, -1) {
		at, err := time.Parse(time.RFC3339Nano, text[m[4]:m[5]])
		if err != nil {
			continue // such as the 31st of June
		}
		b.WriteString(template.HTMLEscapeString(text[end:m[4]]))
		b.WriteString(string(timeTag(at)))
		end = m[5]
	}
	b.WriteString(template.HTMLEscapeString(text[end:]))
	return template.HTML(b.String())
}
