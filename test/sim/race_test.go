//go:build race

package sim

// defaultSeeds is the number of clusters of a plain `go test -race`.
const defaultSeeds = 6

// fewJobs is the number of jobs in the replay of a day.
const fewJobs = 1
