package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// PodHash identifies a run in all clusters of rota that share a namespace of Kubernetes. Two clusters may have runs of one name,
// but not with the same time of creation.
func (r *Run) PodHash() string {
	sum := sha256.Sum256([]byte(r.Name() + "@" + r.Created.UTC().Format(time.RFC3339Nano)))
	return hex.EncodeToString(sum[:8])
}

// PodJob returns the name of the Job of Kubernetes of the present attempt. An attempt that follows a lost one has the same name,
// and continues the Job. An attempt that follows a failed one has another name, and gets a new Job.
func (r *Run) PodJob() string {
	stem := strings.TrimRight(r.Job[:min(len(r.Job), 30)], "-")
	return fmt.Sprintf("%s-%s-%d", stem, r.PodHash(), r.PodGeneration())
}

// PodGeneration returns how many attempts before the present one ended by themselves.
func (r *Run) PodGeneration() int {
	lost := r.LostAttempts()
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].Number == r.Attempt && r.Attempts[n-1].State == Lost {
		lost-- // the present one
	}
	return max(0, r.Attempt-1-lost)
}
