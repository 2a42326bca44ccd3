package config

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// TestOtherProgramsReadTheSameTexts has texts that programs with YAML 1.1 misread if they have no quotes, such as PyYAML.
func TestOtherProgramsReadTheSameTexts(t *testing.T) {
	for text, quoted := range map[string]bool{
		"yes": true, "Off": true, "=": true, "12:30": true, "-1:2:3": true, "190:20:30.15": true,
		"yesterday": false, "==": false, "12:30h": false, "10.0.0.1:80": false, "12:60": false,
	} {
		written, err := Marshal(map[string]job.Spec{"a": {Every: job.Duration(time.Hour), Command: []string{"echo", text}}})
		if err != nil || Misread(text) != quoted || quoted && !strings.Contains(string(written), strconv.Quote(text)) {
			t.Errorf("%s: got %v, %v,\n%s", text, Misread(text), err, written)
		}
	}
}
