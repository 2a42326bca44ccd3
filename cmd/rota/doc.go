// Command rota is cron for more than one machine: the replicas, the workers, and the tools to operate them.
//
// There is one file per command. A command turns flags into calls and answers into text; what it decides by itself is
// pure and tested as such. Only main knows signals and exit codes.
package main
