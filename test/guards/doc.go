// Package guards proves that each guard is needed: it cuts the guard from the source, and then a test must fail.
package guards
