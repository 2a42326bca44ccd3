// Package refs resolves ${env:NAME} and ${file:/path} references to the worker's environment and files.
//
// It never returns or prints a value in an error: an error names the reference and what is wrong with it.
package refs
