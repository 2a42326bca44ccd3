// Package auth decides who may do what.
//
// An Identity says who sends a request, and how that was proven. A Policy gives identities roles, each within a scope of jobs.
// Grants are what one identity may do; each operation of the API names the Right that it needs, and asks them.
//
//	role             rights
//	viewer           read
//	operator         read, operate
//	author           read, operate, define
//	author-command   read, operate, define, define-command
//	admin            read, operate, define, define-command, admin
//
// The package is pure: it knows neither HTTP nor the store, and takes time and randomness as arguments.
//
// Guaranteed: an identity without a binding may do nothing. A job outside of every scope of an identity does not exist for it.
//
// Not guaranteed: a job that executes commands can read what its operating-system user can read. Such a command
// runs as the user of its worker: author-command is as strong as that user.
package auth
