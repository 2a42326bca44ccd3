//go:build !linux

package election

import "time"

// sinceBoot returns zero: there is no portable boot clock. Here only the wall clock shows that the machine was suspended.
func sinceBoot() time.Duration { return 0 }
