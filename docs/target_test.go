package docs_test

import (
	"testing"

	"github.com/rota-scheduler/rota/test/docpage"
)

// TestTargetReference keeps the code on the page about targets equal to the tested files.
func TestTargetReference(t *testing.T) {
	for file, language := range map[string]string{"schema.sql": "sql", "example_test.go": "go"} {
		text := "```" + language + "\n" + read(t, "../scheduler/target/"+file) + "```"
		docpage.Check(t, "how-to/write-an-idempotent-target.md", file, text, *update)
	}
}
