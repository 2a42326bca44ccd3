// Package supervisor reports the state of a process to systemd.
//
// Without systemd, that is without the variable NOTIFY_SOCKET, all calls do nothing.
package supervisor
