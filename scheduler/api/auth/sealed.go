package auth

import (
	"fmt"
	"io"
	"log/slog"
)

// sealed is what each formatter shows in place of a secret.
const sealed = "[secret]"

// Sealed is a secret text. No verb of fmt, no encoder and no logger shows it, even if it is a field of another value. The zero
// value is the empty text.
type Sealed struct {
	reveal func() string // fmt shows unexported fields without asking Format; it shows a function as its address
}

// Seal returns a text as a secret.
func Seal(text string) Sealed {
	if text == "" {
		return Sealed{}
	}
	return Sealed{func() string { return text }}
}

// Reveal returns the text, to send it or to compare with it.
func (s Sealed) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// Format implements fmt.Formatter for all verbs.
func (Sealed) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, sealed) }

// MarshalText implements encoding.TextMarshaler, which JSON and YAML use too.
func (Sealed) MarshalText() ([]byte, error) { return []byte(sealed), nil }

// LogValue implements slog.LogValuer.
func (Sealed) LogValue() slog.Value { return slog.StringValue(sealed) }
