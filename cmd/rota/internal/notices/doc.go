// Package notices sends the notices of jobs during one term.
package notices
