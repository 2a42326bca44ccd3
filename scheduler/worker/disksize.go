//go:build linux || darwin

package worker

import "syscall"

// diskSize is the size of the file system of dir in bytes, 0 if it is not known.
func diskSize(dir string) int64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0
	}
	return int64(fs.Blocks) * int64(fs.Bsize)
}
