package job

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Author is the client that makes a change, as the API has authenticated it.
type Author struct {
	Principal string `json:"principal"`         // anonymous if the client is unknown
	How       string `json:"how"`               // how the principal was proven: see auth.Method; file for job files
	Token     string `json:"token,omitempty"`   // id of the token
	Remote    string `json:"remote,omitempty"`  // address of the client, without its port
	Request   string `json:"request,omitempty"` // id of the request
	Claimed   string `json:"claimed,omitempty"` // the user that the client named itself; no proof
}

// Audit records one change by a client. Stored at audit/<id>, by the transaction of the change: both exist, or neither.
type Audit struct {
	ID     string     `json:"id"` // a ULID in lower case, so ids sort by time
	At     time.Time  `json:"at"`
	Verb   string     `json:"verb"`             // the operation of the API, such as put-job
	Kind   RecordKind `json:"kind"`             // of the record that changed
	Object string     `json:"object,omitempty"` // name of that record; empty if its kind has one record
	Author
	Before int64         `json:"before,omitempty"` // revision of the record that the change replaced; 0: there was none
	Fields []FieldChange `json:"fields,omitempty"` // the fields of the definition that changed

	Rev int64 `json:"-"` // the revision of the change, and of the changed record
}

// FieldChange is a field of a definition that changed. Before and After are hashes of its value; empty: it had none. A hash
// contains the id of its audit record, so hashes of two records cannot be compared.
type FieldChange struct {
	Name   string `json:"name"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// The verbs of single runs. They are the most frequent changes, so their records are removed first.
const (
	VerbSubmitRun     = "submit-run"
	VerbSubmitCommand = "submit-command"
	VerbDeliverHook   = "deliver-hook"
)

// VerbApplyFiles is the verb of a replica that puts its job files in force.
const VerbApplyFiles = "apply-job-files"

// OfRun reports whether the change only submitted one run. The run's own record names its author too.
func (a *Audit) OfRun() bool {
	return a.Verb == VerbSubmitRun || a.Verb == VerbSubmitCommand || a.Verb == VerbDeliverHook
}

// Name returns the author for a sentence. A client without a proof is the user that it named itself, with its address, as in By of
// a Run.
func (a *Author) Name() string {
	switch {
	case a.Claimed == "" || a.How != "none":
		return a.Principal
	case a.Remote == "":
		return a.Claimed
	}
	return a.Claimed + " from " + a.Remote
}

// Job returns the name of the job that the change concerns; empty if it concerns no single job.
func (a *Audit) Job() string {
	switch a.Kind {
	case RecordJob, RecordBackfill:
		return a.Object
	case RecordRun:
		name, _, _ := strings.Cut(a.Object, "/")
		return name
	}
	return ""
}

// bookkeeping lists the fields of definitions that rota itself keeps. A change of them alone is no change by a client.
var bookkeeping = []string{
	"name", "id", "origin", "generation", "created", "updated", "updated_by", "since", "since_reason", "since_generation",
	"scheduled", "jittered", "pauses", "notified", "op",
}

// ChangedFields compares two stored versions of a definition, and returns the fields that differ, by name. Fields of
// the spec stand beside those of the record. An empty or unreadable version has no fields. id is that of the audit record.
func ChangedFields(id string, before, after []byte) []FieldChange {
	old, next := fieldsOf(before), fieldsOf(after)
	var changes []FieldChange
	for name := range old {
		if next[name] == nil {
			changes = append(changes, FieldChange{Name: name, Before: hashOf(id, name, old[name])})
		}
	}
	for name, value := range next {
		if !bytes.Equal(value, old[name]) {
			changes = append(changes, FieldChange{Name: name, Before: hashOf(id, name, old[name]), After: hashOf(id, name, value)})
		}
	}
	slices.SortFunc(changes, func(a, b FieldChange) int { return strings.Compare(a.Name, b.Name) })
	return changes
}

func fieldsOf(record []byte) map[string]json.RawMessage {
	var fields, spec map[string]json.RawMessage
	if json.Unmarshal(record, &fields) != nil {
		return nil
	}
	for _, name := range bookkeeping {
		delete(fields, name)
	}
	if json.Unmarshal(fields["spec"], &spec) == nil {
		delete(fields, "spec")
		maps.Copy(fields, spec)
	}
	return fields
}

// hashOf returns the beginning of the hash of a value, in hexadecimal; empty if there is no value.
func hashOf(id, name string, value json.RawMessage) string {
	if value == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(id + "\x00" + name + "\x00" + string(value)))
	return hex.EncodeToString(sum[:8])
}
