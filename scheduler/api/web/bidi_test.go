package web

import "testing"

func TestTextThatTurnsIsShownAsEscapes(t *testing.T) {
	for page, want := range map[string]string{
		"<p>a\u202eb\u2066c</p>":                           `<p>a\u202eb\u2066c</p>`,
		"<p title=\"\u202e\">x</p>\u2069":                  "<p title=\"\u202e\">x</p>" + `\u2069`,
		"<textarea rows=\"4\">\u202e</textarea>\u202a<br>": "<textarea rows=\"4\">\u202e</textarea>" + `\u202a<br>`,
		"<p>\u05e9\u05dc\u05d5\u05dd \u200f!</p>":          "<p>\u05e9\u05dc\u05d5\u05dd \u200f!</p>", // Hebrew needs no escape
	} {
		if got := string(showTurns([]byte(page))); got != want {
			t.Errorf("%q: got %q, want %q", page, got, want)
		}
	}
}
