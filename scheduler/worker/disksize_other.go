//go:build !linux && !darwin

package worker

// What there is of a disk has no portable source.

func diskSize(string) (bytes, files int64) { return 0, 0 }

func diskFree(string) (bytes int64, known bool) { return 0, false }
