// Package checkup gathers the facts about a cluster that package doctor examines.
//
// It changes nothing, except that it writes a small file into the data directory of this machine to measure the disk. Every request
// has a deadline.
package checkup
