package web

import "testing"

func TestAnsiHTML(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"text is escaped", `<script>alert("1")</script>`, "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;"},
		{"colors become classes", "a \x1b[31mred\x1b[0m b", `a <span class="a-1">red</span> b`},
		{"bold and bright", "\x1b[1;92mok\x1b[m", `<span class="a-b a-10">ok</span>`},
		{"an open color ends with the text", "\x1b[32mgreen", `<span class="a-2">green</span>`},
		{"other sequences vanish", "a\x1b[2Jb\x1b]0;title\x07c\x1b", "ab0;titlec"},
		{"256 colors are not shown", "\x1b[38;5;196mx\x1b[38;2;1;2;3my", "xy"},
		{"bytes that are no text", "a\xffb\x00c\r\n", "a\ufffdbc\n"},
	} {
		if got := string(ansiHTML([]byte(tc.text))); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
