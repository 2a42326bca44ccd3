// Package presence publishes this process in the store, so that the other processes see that it is alive.
package presence
