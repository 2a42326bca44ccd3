// Package command executes programs: an argv as it is, or a text given to /bin/sh -c.
//
// # What it guarantees
//
// The program runs in a process group of its own, with /dev/null as its stdin and an environment that holds nothing of
// the worker's but a short list (see Inherited). When its context ends, the whole group and all that carries its mark (see
// package procs) get SIGTERM, and SIGKILL after the job's kill_grace. A program that had exited by then, noticed or not,
// has the outcome of its exit. When Execute returns, the program has been waited for, and whatever it left behind has been
// killed: the rest of its group, and all that carries its mark. Should the worker's thread or process die, the kernel kills
// the program; its descendants are the nanny's (procs.StartNanny).
//
// Output is copied as it comes and never held: an endless flood costs time, not memory.
//
// # What it does not
//
// A process that the worker may not signal (sudo, a set-user-id program) or that hangs in the kernel cannot be ended;
// Execute waits for the program itself however long that takes, since to say that it has ended would let another
// attempt run beside it. What neither is in its group nor carries its mark is not found.
//
// References are resolved in arguments and in env values. They are not in a shell text, where a value would become
// code: put the reference into env and write "$NAME".
package command
