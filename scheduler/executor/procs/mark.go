package procs

import (
	"errors"
	"strconv"
	"strings"
)

// Env is the environment variable that holds a process's mark.
const Env = "ROTA_MARK"

// Mark returns the mark of the n-th attempt of a session.
func Mark(session string, n int64) string { return session + "." + strconv.FormatInt(n, 10) }

// checkMark refuses marks that would match what they should not.
func checkMark(mark string) error {
	if strings.Trim(mark, ".") == "" || strings.ContainsAny(mark, "\x00=") {
		return errors.New("mark is empty or malformed: it would match other workers' processes")
	}
	return nil
}

// covered says whether one of the marks is value, or its session.
func covered(value string, marks map[string]bool) bool {
	for value != "" {
		if marks[value] {
			return true
		}
		value = value[:max(strings.LastIndexByte(value, '.'), 0)]
	}
	return false
}
