//go:build !race

package schedule_test

const sampled = false
