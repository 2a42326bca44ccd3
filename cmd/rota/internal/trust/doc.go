// Package trust reads the authorities that a process trusts from files that may change.
package trust
