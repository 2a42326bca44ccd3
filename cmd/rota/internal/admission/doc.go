// Package admission keeps a process off a restored store until an operator accepts that store.
//
// A process remembers on its own disk which store it has used, and how far that had come. A store that has gone back in time was
// restored from a backup. Its fencing tokens and cursors were taken back, so a process that used it could repeat runs.
package admission
