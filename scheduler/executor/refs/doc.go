// Package refs resolves references to the worker's environment or files: ${env:NAME}, ${file:/path}.
//
// It never returns or prints a value in an error: an error names the reference and what is wrong with it.
package refs
