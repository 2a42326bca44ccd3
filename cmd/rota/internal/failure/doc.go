// Package failure classifies errors for the operator of a process.
package failure
