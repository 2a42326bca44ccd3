// Package files writes the files of tests.
package files
