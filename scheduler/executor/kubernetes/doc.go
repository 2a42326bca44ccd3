// Package kubernetes executes attempts as Jobs of Kubernetes.
//
// # Guarantees
//
//   - A run has at most one unfinished Job. Its name follows from the run and from the number of attempts that ended by
//     themselves, so creating it twice creates it once. A Job of an earlier such attempt has ended before the next one is
//     created.
//   - If a worker dies, stops or loses its session, the Job continues. The next attempt finds the Job under the same
//     name, adopts it, and reports its end, even if it ended in between.
//   - An outcome follows from an answer of the API server alone. While the server does not answer, the attempt waits for it,
//     up to its timeout. Then it is lost, and the next attempt adopts the Job. The deadline of the pod ends it even if no
//     worker is left.
//   - Values of references are in a Secret that belongs to the Job, and never in the Job.
//
// # Not guaranteed
//
//   - The pod keeps the fencing token, the number and the deadline of the attempt that created the Job.
//   - If nobody adopts an ended Job within an hour, Kubernetes deletes it, and the next attempt creates another one.
//   - If a run is canceled while no worker has it, or ends because its delivery is at_most_once, its pod continues until a
//     worker of the namespace sweeps, at most up to the deadline of the Job.
package kubernetes
