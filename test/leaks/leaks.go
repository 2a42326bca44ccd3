package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is the time that goroutines of etcd's connections get to end after the last test. Those between members may outlive
// Close by five seconds, which is etcd's read timeout.
const patience = 10 * time.Second

// Run runs the tests and returns the exit code. The code is 1 if a goroutine is left after patience.
func Run(m *testing.M) int {
	code := m.Run()
	if code == 0 {
		err := goleak.Find()
		for end := time.Now().Add(patience); err != nil && time.Now().Before(end); {
			err = goleak.Find()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}
