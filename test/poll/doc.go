// Package poll waits in tests for what another goroutine or process does.
package poll
