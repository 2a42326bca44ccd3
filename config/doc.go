// Package config reads what operators write: job files and the settings of a process.
//
// # Job files
//
// [LoadJobs] and [ParseJobs] either return a complete, checked [Set] or [Errors]: every mistake of every file at once,
// each with its file, line, column, an excerpt and a hint. A Set that was returned can be scheduled and stored
// as it is.
//
// Reading is bounded whatever is read: by the size of a file, by the depth of its nesting, by what YAML aliases may
// add to it, and by the number of errors that are kept.
//
// References such as ${env:NAME} and ${file:/path} are checked for their form and never resolved: that is the worker's
// business. Whether an executable, a label or a handler exists is not checked either.
//
// # Settings
//
// [LoadSettings] layers flags over the ROTA_… environment over a YAML file over defaults, and remembers for each value
// where it came from. This package is the only one that knows viper.
package config
