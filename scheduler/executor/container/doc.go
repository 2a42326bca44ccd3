// Package container runs containers on Docker's engine, each to its end.
//
// # Guarantees
//
//   - A container has the name of its run and attempt, so the engine refuses to create it twice.
//   - At most one container of a run executes on one engine. Before it creates one, Execute finds those of earlier
//     attempts by their labels. It adopts the container of an attempt whose worker was lost, and removes all others.
//   - A container that the worker decided to end gets another name first. So no later attempt takes its exit for the
//     result of the work.
//   - Execute waits again after the engine restarts. An end that the engine caused is a lost attempt.
//   - A container that ended by itself stays until the store has the outcome: see Executor.Sweep.
//
// # Not guaranteed
//
//   - An adopted container keeps the token and the number of the attempt that created it.
//   - Containers on different engines do not know each other. If a worker is killed and another engine gets the next
//     attempt, the first container runs until a worker of its engine sweeps.
//   - The engine stores the environment of a container, which includes resolved references, until it is removed.
package container
