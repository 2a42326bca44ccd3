package history

import (
	"encoding/json"
	"os"
	"testing"
)

// TestAgain judges and draws a history that a failed test has kept. ROTA_TEST_HISTORY names its file.
func TestAgain(t *testing.T) {
	path := os.Getenv("ROTA_TEST_HISTORY")
	if path == "" {
		t.Skip("nothing to judge: ROTA_TEST_HISTORY=…/history.json go test ./test/history -run TestAgain -v")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var h History
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatal(err)
	}
	v := Judge(h)
	for _, found := range v.Violations {
		t.Error(found)
	}
	t.Log(v)
	out, err := os.Create(path + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	if err := Draw(out, h, v); err != nil {
		t.Error(err)
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
}
