package worker

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// An appendLog begins with logHead. Each frame is
//
//	magic  length of the rest  its CRC-32C  1 if the entry is there, 0 if it is removed  length of the key  key  value
//
// Numbers have 4 bytes, little-endian, but for the kind, which has one.
const (
	logHead    = "rota journal 1\n"
	frameMagic = "\nrJ\n"
	frameHead  = len(frameMagic) + 4 + 4
	bodyHead   = 1 + 4

	present = 1
	removed = 0
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parseFrame reads the frame at the beginning of b. Its size is 0 if there is no good one.
func parseFrame(b []byte) (key string, kind byte, size int) {
	if len(b) < frameHead+bodyHead || string(b[:len(frameMagic)]) != frameMagic {
		return "", 0, 0
	}
	n := int64(binary.LittleEndian.Uint32(b[len(frameMagic):]))
	if n < bodyHead || n > int64(len(b)-frameHead) {
		return "", 0, 0
	}
	body := b[frameHead : frameHead+int(n)]
	keyEnd := bodyHead + int64(binary.LittleEndian.Uint32(body[1:]))
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[frameHead-4:]) || keyEnd > n {
		return "", 0, 0
	}
	return string(body[bodyHead:keyEnd]), body[0], frameHead + int(n)
}

// nextFrame is where the first good frame from at on begins, below zero if there is none.
func nextFrame(b []byte, at int) int {
	for at < len(b) {
		i := bytes.Index(b[at:], []byte(frameMagic))
		if i < 0 {
			break
		}
		at += i
		if _, _, n := parseFrame(b[at:]); n > 0 {
			return at
		}
		at++
	}
	return -1
}

func appendFrame(b []byte, c *change) []byte {
	begin, kind := len(b), byte(present)
	if c.value == nil {
		kind = removed
	}
	b = append(b, frameMagic...)
	b = binary.LittleEndian.AppendUint64(b, 0) // length and checksum, when they are known
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.key)))
	b = append(append(b, c.key...), c.value...)
	body := b[begin+frameHead:]
	binary.LittleEndian.PutUint32(b[begin+len(frameMagic):], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[begin+frameHead-4:], crc32.Checksum(body, castagnoli))
	return b
}
