package main

import (
	"strings"
	"testing"
)

func TestTerminalOutputHasNoControlSequences(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text", "a\tb\r\nä€😀é§\n", "a\tb\r\nä€😀é§\n"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m", "\x1b[1;31mred\x1b[0m \x1b[38:5:1mx\x1b[m"},
		{"the clipboard", "a\x1b]52;c;cm0gLXJmIC8=\x07b", "ab"},
		{"the clipboard, with the other end", "a\x1b]52;c;cm0gLXJmIC8=\x1b\\b", "ab"},
		{"the title", "a\x1b]0;owned\x07b", "ab"},
		{"a device string", "a\x1bPq#0\x1b\\b", "ab"},
		{"the cursor", "a\x1b[2Jb\x1b[10;10Hc\x1b[?1049hd", "abcd"},
		{"a private sequence that ends as colours do", "a\x1b[>4;2mb\x1b[?1mc", "abc"},
		{"two byte sequences", "a\x1bcb\x1b(0c\x1b7d", "abcd"},
		{"control characters", "a\x00\x08\x07\x7f\x0eb", "ab"},
		{"control characters of Unicode", "a\u009b31mb\u0085c\u00a0d", "a31mbc\u00a0d"},
		{"characters that turn text", "a\u202eb\u2066c\u2069d", "abcd"},
		{"characters beside them", "\u2029\u202f\u2065\u206a\u2013€√\xe2\x80\x1b[31mx\xe2\xe2\x80\xe2\x82\xac", "\u2029\u202f\u2065\u206a\u2013€√\xe2\x80\x1b[31mx\xe2\xe2\x80€"},
		{"a string without an end", "a\x1b]52;c;xyz\nb\n", "a\nb\n"},
		{"a sequence without an end", "a\x1b[31\nb\n", "a\nb\n"},
		{"a sequence that is too long", "a\x1b[" + strings.Repeat("1;", 100) + "mb", "ab"},
		{"a sequence within another", "a\x1b]0;x\x1b[31mb\x1b\x1b[0mc", "a\x1b[31mb\x1b[0mc"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var whole, split strings.Builder
			w := &safeWriter{to: &whole}
			if n, err := w.Write([]byte(tt.in)); n != len(tt.in) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			w = &safeWriter{to: &split}
			for i := range len(tt.in) {
				_, _ = w.Write([]byte{tt.in[i]})
			}
			if whole.String() != tt.want || split.String() != tt.want {
				t.Errorf("got %q, in single bytes %q, want %q", whole.String(), split.String(), tt.want)
			}
		})
	}
}

func FuzzSafeWriter(f *testing.F) {
	f.Add("a\x1b]52;c;x\x07\x1b[31mb\u009b")
	f.Fuzz(func(t *testing.T, in string) {
		var b strings.Builder
		_, _ = (&safeWriter{to: &b}).Write([]byte(in))
		rest := b.String()
		for {
			at := strings.IndexByte(rest, escape)
			if at < 0 {
				break
			}
			end := strings.IndexByte(rest[at:], 'm')
			if end < 0 || strings.Trim(rest[at+1:at+end], "[0123456789:;") != "" {
				t.Fatalf("%q lets %q through", in, rest[at:])
			}
			rest = rest[at+end+1:]
		}
	})
}
