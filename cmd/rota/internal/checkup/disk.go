//go:build linux || darwin

package checkup

import "syscall"

// space returns the free bytes of the file system of dir, and all of them; 0 if unknown.
func space(dir string) (free, total uint64) {
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil {
		return 0, 0
	}
	size := uint64(fs.Bsize) //nolint:gosec // a block size is positive
	return fs.Bavail * size, fs.Blocks * size
}
