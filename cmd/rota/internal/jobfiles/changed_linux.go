package jobfiles

import (
	"io/fs"
	"syscall"
	"time"
)

// changed returns when a file was changed last. In contrast to the time of the last write, no program can set it.
func changed(info fs.FileInfo) time.Time {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(s.Ctim.Unix())
	}
	return info.ModTime()
}
