package web

import (
	"strings"
	"testing"
)

func TestProseShowsTimesInTheZoneOfTheViewer(t *testing.T) {
	for text, want := range map[string]string{
		"It ended at 1999-05-02T03:04:05Z.":       `It ended at <time datetime="1999-05-02T03:04:05Z" title="1999-05-02 03:04:05 UTC">1999 May 02 03:04</time>.`,
		"backup/1999-05-02T03:04:05Z failed":      "backup/1999-05-02T03:04:05Z failed",
		"<b> at 1999-06-31T03:04:05Z":             "&lt;b&gt; at 1999-06-31T03:04:05Z",
		"(1999-05-02T03:04:05.5Z) & no more":      `(<time datetime="1999-05-02T03:04:05.5Z" title="1999-05-02 03:04:05.5 UTC">1999 May 02 03:04</time>) &amp; no more`,
		"":                                        "",
		"exit code 3: see https://x/?at=<script>": "exit code 3: see https://x/?at=&lt;script&gt;",
	} {
		if got := string(proseTag(text)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := string(proseTag("from 1999-05-02T03:04:05Z to 1999-05-02T03:04:06Z")); strings.Count(got, "<time") != 2 {
		t.Errorf("two times: got %s", got)
	}
}
