// Package buffer has a buffer that a test reads while others write to it.
package buffer
