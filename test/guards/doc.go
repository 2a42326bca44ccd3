// Package guards proves that each guard is needed. It cuts the guard from the source. A test must fail then.
package guards
