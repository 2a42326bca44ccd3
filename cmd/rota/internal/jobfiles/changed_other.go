//go:build !linux

package jobfiles

import (
	"io/fs"
	"time"
)

// changed returns when a file was written last.
func changed(info fs.FileInfo) time.Time { return info.ModTime() }
