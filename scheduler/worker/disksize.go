//go:build linux || darwin

package worker

import "syscall"

// diskSize returns the size of the file system of dir in bytes, and the number of files that it can have; 0 if unknown.
func diskSize(dir string) (bytes, files int64) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, 0
	}
	return int64(fs.Blocks) * int64(fs.Bsize), int64(fs.Files)
}

// diskFree returns the free space of the file system of dir, in bytes.
func diskFree(dir string) (bytes int64, known bool) {
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	return int64(fs.Bavail) * int64(fs.Bsize), err == nil
}
