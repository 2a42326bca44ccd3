//go:build !linux

package election

import "time"

// sinceBoot has no portable source: a suspended machine shows in its wall clock alone.
func sinceBoot() time.Duration { return 0 }
