package output

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// suffix ends the name of every file of this package. Sweep removes no other files.
const suffix = ".out"

// maxPart keeps file names below 255 bytes, the limit of file systems.
const maxPart = 180

// path returns the file for the output of an attempt of a run (<job>/<slot or id>): <dir>/<job>/<id>.<attempt>.out.
func path(dir, run string, attempt int) string { return filepath.Join(dir, fileName(run, attempt)) }

// fileName returns the path of that file below its directory.
func fileName(run string, attempt int) string {
	name, id, _ := strings.Cut(run, "/")
	return filepath.Join(safe(name), fmt.Sprintf("%s.%d%s", safe(id), attempt, suffix))
}

// safe turns a string into one file name. Different strings get different names. Letters, digits, dashes, underscores and
// inner dots stay, so that slots remain readable: 2026-11-21T02%3A30%3A00Z.
func safe(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() == 0 {
		return "%"
	}
	if b.Len() > maxPart {
		sum := sha256.Sum256([]byte(s))
		return b.String()[:maxPart-32] + "%" + hex.EncodeToString(sum[:15])
	}
	return b.String()
}
