// Package atomicfile replaces a file on disk in one step.
package atomicfile
