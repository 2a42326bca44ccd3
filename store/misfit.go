package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// misfit returns the error for a value that is no record of its kind, without words of Go. A person who has written the value reads
// it on the status of the cluster.
func misfit(err error) error {
	text := err.Error()
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		subject := "the value"
		if wrong.Field != "" {
			subject = "the field " + wrong.Field
		}
		has, _, _ := strings.Cut(wrong.Value, " ")
		text = fmt.Sprintf("%s is %s, and must be %s", subject, jsonWords[has], wanted(wrong.Type.Kind()))
		if number, ok := strings.CutPrefix(wrong.Value, "number "); ok {
			text = fmt.Sprintf("%s cannot be the number %s", subject, number)
		}
	}
	if wrong, ok := errors.AsType[*time.ParseError](err); ok {
		text = fmt.Sprintf("%q is not a time in RFC 3339", wrong.Value)
	}
	if strings.HasPrefix(text, "Time.UnmarshalJSON") {
		text = "a time is not a text in RFC 3339"
	}
	return errors.New("not a record of this kind: " + text)
}

// jsonWords are the names of the types of JSON, by those that encoding/json has.
var jsonWords = map[string]string{
	"string": "a text", "number": "a number", "bool": "true or false", "array": "a list", "object": "an object",
}

// wanted returns the type of JSON in which a value of this kind is written.
func wanted(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return jsonWords["string"]
	case reflect.Bool:
		return jsonWords["bool"]
	case reflect.Slice, reflect.Array:
		return jsonWords["array"]
	case reflect.Struct, reflect.Map:
		return jsonWords["object"]
	}
	return jsonWords["number"]
}
