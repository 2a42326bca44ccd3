// Package notices sends the notices that jobs ask for, during one term.
package notices
