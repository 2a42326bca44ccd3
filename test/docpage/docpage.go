package docpage

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Check compares the generated block of a page with want. name is the name of the block. If update is set, Check writes want
// instead.
func Check(t *testing.T, file, name, want string, update bool) {
	t.Helper()
	before, got, after := read(t, file, name)
	want = "\n" + strings.TrimSpace(want) + "\n"
	switch {
	case got == want:
	case !update:
		t.Errorf("%s: the block %q differs from the code: run `make docs`", file, name)
	default:
		if err := os.WriteFile(file, []byte(before+want+after), 0o644); err != nil { //nolint:gosec // A page is for everybody.
			t.Fatal(err)
		}
	}
}

// Block returns the generated block of a page.
func Block(t *testing.T, file, name string) string {
	t.Helper()
	_, block, _ := read(t, file, name)
	return block
}

// read reads a page, and splits it around the block.
func read(t *testing.T, file, name string) (before, block, after string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, block, after, err = cut(string(text), name)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return before, block, after
}

// cut splits a page around the text between the two comments of a block.
func cut(page, name string) (before, block, after string, err error) {
	begin := fmt.Sprintf("<!-- generated: %s -->", name)
	const end = "<!-- end -->"
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", "", "", fmt.Errorf("no block begins with %s", begin)
	}
	block, after, ok = strings.Cut(rest, end)
	if !ok {
		return "", "", "", fmt.Errorf("the block %s does not end with %s", name, end)
	}
	return before + begin, block, end + after, nil
}
