// Package guards proves that each guard is needed: it takes one out of the source, and a test of the package has to fail.
package guards
