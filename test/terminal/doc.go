// Package terminal uses rota at a real terminal, as operators do.
//
// It has only tests. They need tmux, and bash with its completion, zsh, fish. Without one of them, the tests that need it skip,
// unless ROTA_CI=1.
package terminal
