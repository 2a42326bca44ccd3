//go:build linux || darwin

package worker

import "syscall"

// diskSize is the size of the file system of dir in bytes, and how many files it can have, each 0 if it is not known.
func diskSize(dir string) (bytes, files int64) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, 0
	}
	return int64(fs.Blocks) * int64(fs.Bsize), int64(fs.Files)
}

// diskFree is how much room there is in the file system of dir, in bytes.
func diskFree(dir string) (bytes int64, known bool) {
	var fs syscall.Statfs_t
	err := syscall.Statfs(dir, &fs)
	return int64(fs.Bavail) * int64(fs.Bsize), err == nil
}
