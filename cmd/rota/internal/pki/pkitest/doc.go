// Package pkitest makes certificates for tests.
package pkitest
