// Package leaks fails a package's tests if they leave a goroutine.
package leaks
