//go:build !race

package sim

// defaultSeeds is the number of clusters of a plain `go test`.
const defaultSeeds = 30

// fewJobs is the number of jobs in the replay of a day.
const fewJobs = 4
