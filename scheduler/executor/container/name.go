package container

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rota-scheduler/rota/scheduler/job"
)

// The labels of a container. They say which attempt created it, and do not change when a later attempt adopts it.
const (
	labelCluster = "rota.cluster"
	labelRun     = "rota.run"
	labelAttempt = "rota.attempt"
	labelToken   = "rota.token"
	labelWorker  = "rota.worker"
)

// endedSuffix ends the name of a container that the worker decided to end.
const endedSuffix = "-ended"

// stem returns the name of a run's containers without the attempt. Names of runs may have characters that names of containers may
// not have.
func stem(cluster, run string) string {
	jobName, _, _ := strings.Cut(run, "/")
	sum := sha256.Sum256([]byte(cluster + "\x00" + run))
	return "rota-" + jobName + "-" + hex.EncodeToString(sum[:8]) + "-"
}

// nameOf returns the name of the container of an attempt.
func nameOf(cluster string, run *job.Run) string {
	return stem(cluster, run.Name()) + strconv.Itoa(run.Attempt)
}

// owner returns the number of the attempt that a container's name names. ok is false if the worker decided to end the container,
// or if someone else named it.
func owner(cluster, run, name string) (attempt int, ok bool) {
	number, found := strings.CutPrefix(name, stem(cluster, run))
	attempt, err := strconv.Atoi(number)
	return attempt, found && err == nil
}
