package web

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// checkedField is the hidden field that says what the client has confirmed.
const checkedField = "checked"

// confirmed reports whether the client has seen what the form does with these values, and agrees. The answer is no if a value or
// an effect has changed since.
func (f *form) confirmed() bool { return f.value(checkedField) == f.digest() }

// preview shows the form again with its effects, and asks for a confirmation by a button with the text verb. Without a verb, there
// is nothing to confirm.
func (f *form) preview(verb string) {
	f.Preview = true
	for i := range f.Fields {
		switch in := &f.Fields[i]; {
		case in.Name != checkedField:
		case verb == "":
			in.Value = ""
		default:
			in.Value, f.Verb = f.digest(), verb
		}
	}
}

// digest names the values and the effects of a form. Effects are its items; facts may contain counts that change all the time.
func (f *form) digest() string {
	var b strings.Builder
	for i := range f.Fields {
		if f.Fields[i].Kind != "hidden" {
			b.WriteString(f.Fields[i].Name + "\x00" + f.Fields[i].Value + "\x00")
		}
	}
	for _, item := range f.Items {
		b.WriteString(item.Name + "\x00" + item.Note + "\x00")
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}
