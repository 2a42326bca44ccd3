// Package refs resolves references to the worker's environment or files: ${env:NAME}, ${file:/path}.
//
// No error contains the value of a reference. An error names the reference and the problem.
package refs
