package arch

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// maxWords is the most words that a sentence of a comment may have. Vale checks the same in documents. It cannot do it for
// comments, because it joins the comments behind the fields of a struct.
const maxWords = 30

// sentenceEnd matches the end of a sentence or the beginning of a list item.
var sentenceEnd = regexp.MustCompile(`[.!?](?:["')\]]*)\s+|\n\s*[-*] |\n\n`)

func TestSentencesOfCommentsAreShort(t *testing.T) {
	for path, text := range goFiles(t) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range file.Comments {
			for _, sentence := range sentenceEnd.Split(prose(group.Text()), -1) {
				if n := len(strings.Fields(sentence)); n > maxWords {
					t.Errorf("%s: %d words, at most %d are allowed: %.60s…", files.Position(group.Pos()), n, maxWords, sentence)
				}
			}
		}
	}
}

// prose removes the indented lines of a comment, which are code, tables and diagrams.
func prose(comment string) string {
	var lines []string
	for line := range strings.Lines(comment) {
		if !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "  ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
