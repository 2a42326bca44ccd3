package job

import (
	"bytes"
	"strconv"
	"strings"
	"sync"
	"unique"
)

// specs holds recently read specs. Definitions with equal specs share one, because most of a million definitions differ
// only in their names.
var specs = sharedSpecs{byJSON: make(map[string]*Spec)}

// The bounds of sharedSpecs.
const (
	maxSharedSpecs = 10_000
	maxSharedSpec  = 2 << 10 // bytes of JSON: longer specs are not shared
)

type sharedSpecs struct {
	mu     sync.Mutex
	byJSON map[string]*Spec // guarded by mu
}

// get returns the spec of a JSON text; nil if there is none.
func (s *sharedSpecs) get(text []byte) *Spec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byJSON[string(text)]
}

func (s *sharedSpecs) put(text []byte, spec *Spec) {
	if len(text) > maxSharedSpec {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byJSON) >= maxSharedSpecs {
		clear(s.byJSON)
	}
	s.byJSON[string(text)] = spec
}

// sharedSpec reads the spec of a definition, or returns an equal one that was read before.
func (s *scanner) sharedSpec() *Spec {
	text := s.b[:max(0, len(s.b)-1)] // up to the end of the definition
	if op := bytes.LastIndex(text, []byte(`,"op":"`)); op >= 0 {
		text = text[:op]
	}
	// Only texts of whole specs are in specs, so a text that is cut at a wrong place is not found.
	if known := specs.get(text); known != nil {
		s.b = s.b[len(text):]
		return known
	}
	text = s.b
	spec := new(Spec)
	s.expect(`{`)
	s.spec(spec)
	s.expect(`}`)
	if !s.bad {
		spec.Share()
		specs.put(text[:len(text)-len(s.b)], spec)
	}
	return spec
}

// Share makes a new spec share memory with others for the values that most of them have.
func (s *Spec) Share() {
	for _, text := range []*string{
		&s.Timezone, &s.Handler, (*string)(&s.Missed), (*string)(&s.Overlap), (*string)(&s.Delivery),
	} {
		*text = unique.Make(*text).Value()
	}
	s.Notify = sharedNotifies.share(s.Notify)
	if s.DST != nil && *s.DST == *usualDST {
		s.DST = usualDST
	}
}

// usualDST is the value that Spec.WithDefaults sets.
var usualDST = Spec{}.WithDefaults().DST

// notifies holds values of Spec.Notify that definitions share. A map of its own would take 500 bytes for each job.
type notifies struct {
	mu    sync.Mutex
	known map[string]Notify // guarded by mu, by content; at most maxNotifies
}

const maxNotifies = 256

var sharedNotifies notifies

// share returns a Notify equal to n, which must not be changed.
func (s *notifies) share(n Notify) Notify {
	if len(n) != 1 { // most have one notifier; several would have to be sorted
		return n
	}
	var key strings.Builder
	for name, to := range n {
		key.WriteString(name + "\x00" + to.URL + "\x00" + strconv.Itoa(to.After) + "\x00" + strconv.FormatInt(int64(to.Repeat), 10))
		key.WriteString("\x00" + to.Template)
		for _, o := range to.When {
			key.WriteString("\x00" + string(o))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[key.String()]; ok {
		return known
	}
	if s.known == nil || len(s.known) >= maxNotifies {
		s.known = make(map[string]Notify)
	}
	s.known[key.String()] = n
	return n
}
