package output

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// suffix ends the name of every file of this package; Sweep touches no other.
const suffix = ".out"

// maxPart keeps names below the 255 bytes that file systems allow.
const maxPart = 180

// path is where the output of an attempt of a run (<job>/<slot or id>) is kept: <dir>/<job>/<id>.<attempt>.out
func path(dir, run string, attempt int) string {
	name, id, _ := strings.Cut(run, "/")
	return filepath.Join(dir, safe(name), fmt.Sprintf("%s.%d%s", safe(id), attempt, suffix))
}

// safe turns any string into one name of a file, different for different strings. Letters, digits, dashes, underscores
// and inner dots stay, so that slots remain readable: 2026-11-21T02%3A30%3A00Z.
func safe(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
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
