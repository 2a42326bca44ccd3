// Package jobfiles keeps the definitions in the store equal to the job files.
//
// Every replica reads its own files. A set of files that the store has never seen is put in force by the first replica that reads
// it. A set that was in force earlier is older: a replica that starts with it leaves the newer set in force.
//
// A change of the files while the replica runs is an edit. An edit is put in force even if it restores an earlier set, unless
// another set was put in force after the edit. A restart is no edit, because a replica remembers on its disk what it has read.
//
// Files with mistakes change nothing: the set in force stays. A replica with such files still works, unless no set has
// ever been in force.
package jobfiles
