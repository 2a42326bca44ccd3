package job

import "encoding/json"

// HTTP is a request to make. URL, headers and body may hold ${env:} and ${file:} references and
// the template fields .Job .Run .Slot .Attempt .Token .Params.
type HTTP struct {
	URL     string            `json:"url"`
	Method  string            `json:"method,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	JSON    json.RawMessage   `json:"json,omitempty"` // body, sent as application/json
	Body    string            `json:"body,omitempty"` // body, sent as it is
	Expect  []int             `json:"expect,omitempty"`
}

// withDefaults returns a copy of h in which everything that has a default is set.
func (h HTTP) withDefaults() *HTTP {
	if len(h.JSON) > 0 || h.Body != "" {
		setDefault(&h.Method, "POST")
	}
	setDefault(&h.Method, "GET")
	return &h
}
