package importer

import (
	"regexp"
	"strings"
)

var (
	// relative matches a command whose program is found from the working directory. Assignments may stand before the program.
	relative = regexp.MustCompile(`^(?:[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|[^\s"'])*\s+)*([\w.-]+/\S*)`)
	// elsewhere matches a change to a directory that does not depend on the present one.
	elsewhere = regexp.MustCompile(`\b(?:cd|pushd)\s+["']?[/~$]`)
	// relativeUse matches a change to a directory, or a redirection to a file, that is found from the working directory.
	relativeUse = regexp.MustCompile(`(?:(?:^|[;&|({])\s*cd\s+|(?:^|\s)\d?>{1,2}\s*)([\w.][^\s;&|)]*)`)
	quotation   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'`)
)

// relativePath returns the path in a command of a crontab that is found from the working directory; empty if none is seen.
func relativePath(command string) string {
	if m := relative.FindStringSubmatch(command); m != nil {
		return m[1]
	}
	command, _, _ = strings.Cut(strings.ReplaceAll(command, `\%`, ""), "%") // the rest is the standard input
	if elsewhere.MatchString(command) {
		return ""
	}
	if m := relativeUse.FindStringSubmatch(quotation.ReplaceAllString(command, "''")); m != nil {
		return m[1]
	}
	return ""
}
