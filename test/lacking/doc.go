// Package lacking skips tests that need what the machine lacks.
package lacking
