package top

import "testing"

func TestTextsCannotDisturbTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain, größer, عربي, 日本":                "plain, größer, عربي, 日本",
		"\x1b]0;title\a\u009b31m\r\n\x7f":        " ]0;title  31m   ",
		"a \u202eb\u202c c \u2066d\u2069 \u200d": "a  b  c  d  \u200d",
	} {
		if got := clean(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
