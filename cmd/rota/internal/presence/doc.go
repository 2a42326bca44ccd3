// Package presence shows a process to the others in the store.
package presence
