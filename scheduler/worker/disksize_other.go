//go:build !linux && !darwin

package worker

// diskSize returns 0 for unknown, since there is no portable way to get the sizes.
func diskSize(string) (bytes, files int64) { return 0, 0 }

// diskFree returns that the free space is unknown, for the same reason.
func diskFree(string) (bytes int64, known bool) { return 0, false }
