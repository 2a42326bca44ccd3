package page

import (
	"os"
	"testing"

	"github.com/rota-scheduler/rota/test/cluster"
)

// binary is the rota under test.
var binary string

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, func(rota, _ string) error {
		binary = rota
		return nil
	}))
}
