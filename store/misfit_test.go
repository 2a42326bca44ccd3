package store

import "testing"

// A record that somebody has written by hand is refused in words of JSON.
func TestAMisfitIsExplainedWithoutGo(t *testing.T) {
	const prefix = "not a record of this kind: "
	for value, want := range map[string]string{
		`{"generation":"x"}`:                "the field generation is a text, and must be a number",
		`{"generation":1e40}`:               "the field generation cannot be the number 1e40",
		`{"spec":{"labels":[]}}`:            "the field spec.labels is a list, and must be an object",
		`[]`:                                "the value is a list, and must be an object",
		`{"created":"yesterday"}`:           `"yesterday" is not a time in RFC 3339`,
		`{"created":7}`:                     "a time is not a text in RFC 3339",
		`{"name":"a","spec":{"timeout":5}}`: `duration 5: write it with a unit, for example "30s"`,
		`garbage`:                           "invalid character 'g' looking for beginning of value",
	} {
		c := decode(KindJobs, "a", []byte(value), 1)
		if c.Bad == nil || c.Bad.Error() != prefix+want {
			t.Errorf("%s: got %v, want %s", value, c.Bad, prefix+want)
		}
	}
}
