// Package config reads what operators write.
//
// # Job files
//
// [LoadJobs] and [ParseJobs] return either a complete, checked [Set] or [Errors]. Errors has every mistake of every file, each
// with its file, line, column, an excerpt and a hint. The jobs of a Set can be scheduled and stored without further checks.
//
// [ParseJob] and [ParseLimit] read one definition from a request in JSON. They use the same tables and report the same
// mistakes, each with the path of its key.
//
// One table describes each key: its type, default, range, example and meaning. The readers, [Schema], [Reference] and
// [Describe] are made of it. To add a key, add a row to jobKeys and a field to job.Spec.
//
// Every input is bounded: the size of a file, the depth of its nesting, the values that YAML aliases add, and the number of
// errors that are kept.
//
// References such as ${env:NAME} and ${file:/path} are checked for their form. The worker resolves them. Whether a program, a
// label or a handler exists is not checked either.
//
// # Settings
//
// [LoadSettings] reads the settings of a process. A flag wins over an environment variable, a variable over the file, and the
// file over the default. The result records where each value came from. Only this package uses viper.
package config
