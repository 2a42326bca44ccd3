//go:build !linux && !darwin

package worker

// diskSize knows no sizes, since there is no portable way to get them.
func diskSize(string) (bytes, files int64) { return 0, 0 }

// diskFree knows no free space, like diskSize.
func diskFree(string) (bytes int64, known bool) { return 0, false }
