package main

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// found is one comment or sentence, and where it stands.
type found struct {
	place string
	text  string
}

func main() {
	seed := flag.Uint64("seed", 1, "seed of the draw")
	comments := flag.Int("comments", 100, "comments to draw")
	sentences := flag.Int("sentences", 60, "sentences of the documentation to draw")
	flag.Parse()
	if err := run(os.DirFS("."), *seed, *comments, *sentences); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(tree fs.FS, seed uint64, comments, sentences int) error {
	var fromCode, fromDocs []found
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "bin"):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".go":
			list, err := commentsOf(path, text)
			fromCode = append(fromCode, list...)
			return err
		case ".md":
			fromDocs = append(fromDocs, sentencesOf(path, string(text))...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read tree: %w", err)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	show("comments", random, fromCode, comments)
	show("sentences", random, fromDocs, sentences)
	return nil
}

// show writes n of the list, in the order in which they were drawn.
func show(what string, random *rand.Rand, list []found, n int) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	n = min(n, len(list))
	fmt.Printf("# %d of %d %s\n\n", n, len(list), what)
	for i, f := range list[:n] {
		fmt.Printf("%d. %s\n   %s\n", i+1, f.place, strings.ReplaceAll(f.text, "\n", "\n   "))
	}
	fmt.Println()
}

// commentsOf returns the comments of a Go file without directives.
func commentsOf(path string, text []byte) ([]found, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var list []found
	for _, group := range file.Comments {
		if text := strings.TrimSpace(group.Text()); text != "" {
			list = append(list, found{files.Position(group.Pos()).String(), text})
		}
	}
	return list, nil
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?]["')]*(\s+|$)`)
	markup      = regexp.MustCompile(`^([#>*\-|\s]+|\d+\.\s)`)
	hidden      = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// sentencesOf returns the sentences of a Markdown page, those of tables and lists included, without code blocks and HTML
// comments.
func sentencesOf(path, text string) []found {
	var list []found
	code := false
	paragraph, began := "", 0
	flush := func() {
		for paragraph != "" {
			end := len(paragraph)
			if at := sentenceEnd.FindStringIndex(paragraph); at != nil {
				end = at[1]
			}
			if sentence := strings.TrimSpace(paragraph[:end]); strings.Count(sentence, " ") >= 2 {
				list = append(list, found{fmt.Sprintf("%s:%d", path, began), sentence})
			}
			paragraph = paragraph[end:]
		}
	}
	text = hidden.ReplaceAllStringFunc(text, func(comment string) string {
		return strings.Repeat("\n", strings.Count(comment, "\n")) // lines keep their numbers
	})
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			flush()
			code = !code
			continue
		}
		if code {
			continue
		}
		if trimmed == "" || markup.MatchString(line) {
			flush()
		}
		if strings.HasPrefix(trimmed, "|") {
			for cell := range strings.SplitSeq(strings.Trim(trimmed, "|"), "|") {
				paragraph, began = strings.TrimSpace(cell), i+1
				if !strings.Contains(paragraph, "---") {
					flush()
				}
				paragraph = ""
			}
			continue
		}
		if paragraph == "" {
			began = i + 1
		}
		paragraph += strings.TrimSpace(markup.ReplaceAllString(line, "")) + " "
	}
	flush()
	return list
}
