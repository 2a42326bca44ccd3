// Package command executes programs: an argv, or a text for /bin/sh -c.
//
// # Guarantees
//
//   - The program runs in its own process group, with /dev/null as its stdin. Of the worker's environment it gets a
//     short list: see passedOn.
//   - When its context ends, the whole group and all processes with its mark (see package procs) get SIGTERM, and
//     SIGKILL after the job's kill_grace. If the program has already exited, the exit decides the outcome.
//   - When Execute returns, the program has been reaped, and all its other processes have been killed: the rest of
//     its group, and all processes with its mark. Those that have the output open had leftoverGrace to end by themselves.
//   - With Config.User, the program has the rights of that user, and none of the worker's. The worker resolves its
//     references and reads its outputs.
//   - If the worker's thread or process dies, the kernel kills the program. The nanny kills its descendants: see
//     procs.StartNanny.
//   - Output is copied as it comes and never buffered, so endless output costs time and no memory.
//
// # Not guaranteed
//
//   - A process that the worker may not signal (sudo, a set-user-id program), or that hangs in the kernel, cannot be
//     ended. Execute waits for the program without a limit, since otherwise another attempt could run beside it. A
//     process that neither is in the group nor has the mark is not found.
//   - References are resolved in arguments and in values of env. They are not resolved in a shell text, where a value
//     would become code: put the reference into env and write "$NAME".
package command
