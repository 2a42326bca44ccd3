package api

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// badNumberPrefix begins the text of every badNumber. huma keeps only the text of an error, and readableProblems finds it by this
// prefix.
const badNumberPrefix = "bad number: "

// badNumber is the error for a number of a body that its field cannot hold. Its text is the prefix, the field, ": " and what to do.
type badNumber struct {
	field string // such as window.max; empty for a value without a place
	text  string
}

func (e *badNumber) Error() string { return badNumberPrefix + e.field + ": " + e.text }

// unmarshal is json.Unmarshal, with errors about numbers in plain words.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || !strings.HasPrefix(wrong.Value, "number ") {
		return err
	}
	switch {
	case wrong.Type.Kind() == reflect.Float64:
		return &badNumber{wrong.Field, "a number is larger than JSON numbers may be here: write it as a text"}
	case strings.ContainsAny(wrong.Value, ".eE"):
		return &badNumber{wrong.Field, "write a whole number in digits, without a point or an exponent"}
	}
	return &badNumber{wrong.Field, "the number is too large"}
}
