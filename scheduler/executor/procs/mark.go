package procs

import (
	"errors"
	"strconv"
	"strings"
)

// Env is the environment variable that holds the mark of a process.
const Env = "ROTA_MARK"

// Mark returns the mark of the nth attempt of a life.
func Mark(life string, n int64) string { return life + "." + strconv.FormatInt(n, 10) }

// checkMark refuses a mark that would match processes of other workers.
func checkMark(mark string) error {
	if strings.Trim(mark, ".") == "" || strings.ContainsAny(mark, "\x00=") {
		return errors.New("mark is empty or malformed: it would match other workers' processes")
	}
	return nil
}

// covered reports whether marks contains value or its life.
func covered(value string, marks map[string]bool) bool {
	for value != "" {
		if marks[value] {
			return true
		}
		value = value[:max(strings.LastIndexByte(value, '.'), 0)]
	}
	return false
}
