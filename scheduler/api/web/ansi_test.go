package web

import (
	"strings"
	"testing"
)

func TestAnsiHTML(t *testing.T) {
	long := strings.Repeat("é", longestString+1)
	for _, tc := range []struct{ name, text, want string }{
		{"text is escaped", `<script>alert("1")</script>`, "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;"},
		{"colors become classes", "a \x1b[31mred\x1b[0m b", `a <span class="a-1">red</span> b`},
		{"bold and bright", "\x1b[1;92mok\x1b[m", `<span class="a-b a-10">ok</span>`},
		{"an open color ends with the text", "\x1b[32mgreen", `<span class="a-2">green</span>`},
		{"other sequences vanish", "a\x1b[2Jb\x1b]0;title\x07c\x1b", "abc"},
		{"links are their text", "\x1b]8;;http://a/b\x1b\\name\x1b]8;;\x1b\\.", "name."},
		{"a title without an end hides no text", "\x1b]0;title\nb", "0;title\nb"},
		{"the choice of a character set", "\x1b(B\x1b[mx\x1b7y", "xy"},
		{"a progress bar is lines", "1 %\r50 %\r\rdone\r\nx", "1 %\n50 %\ndone\nx"},
		{"a color within the end of a line", "50%\r\x1b[0m\nx\r\x1b[31m\r\ny", "50%\nx\n<span class=\"a-1\">y</span>"},
		{"a line that is erased", "a\r\x1b[K\r1%\r\x1b[m\x0f\nb", "a\n1%\nb"},
		{"an empty line stays", "a\r\x1b[m\n\nb\n\x1b[m\nc", "a\n\nb\n\nc"},
		{"a string that is too long is text", "\x1b]" + long + "\x1b\\.", long + "."},
		{"the longest string", "\x1b]" + strings.TrimPrefix(long, "é") + "\x1b\\.", "."},
		{"too many parameters are text", "\x1b[" + strings.Repeat("1", 201) + "m", strings.Repeat("1", 201) + "m"},
		{"private parameters set no color", "\x1b[31ma\x1b[>4;2mb", `<span class="a-1">ab</span>`},
		{"256 colors are not shown", "\x1b[38;5;196mx\x1b[38;2;1;2;3my", "xy"},
		{"bytes that are no text", "a\xffb\x00c\r\n", "a\ufffdbc\n"},
	} {
		if got := string(ansiHTML([]byte(tc.text))); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
