// Command rota is cron for more than one machine.
//
// It runs the replicas and the workers, and has the tools to operate them. Each command has a file of its own. A command
// translates flags into calls of the API, and prints the answers; call.go has the shared steps. Only main.go, signals.go and
// exit.go deal with signals and exit codes.
package main
