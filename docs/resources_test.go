package docs_test

import (
	"reflect"
	"testing"

	"github.com/rota-scheduler/rota/scheduler/job"
)

func TestEveryResourceIsDescribed(t *testing.T) {
	same(t, "the table of resources", firstCells(t, "reference/job-files.md", "\n## Resources\n"), keys(reflect.TypeFor[job.Resources]()))
}
