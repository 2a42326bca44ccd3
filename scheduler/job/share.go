package job

import (
	"bytes"
	"sync"
	"unique"
)

// specs are those that were read lately. Definitions that say the same have one between them: of a million definitions,
// most differ in their names alone.
var specs = sharedSpecs{kept: make(map[string]*Spec)}

// Bounds of what is kept for sharing.
const (
	maxSharedSpecs = 10_000
	maxSharedSpec  = 2 << 10 // bytes of JSON: those that are longer are shared by nobody
)

type sharedSpecs struct {
	mu   sync.Mutex
	kept map[string]*Spec // guarded by mu, by their JSON
}

// get returns the spec that was read from the same text, nil if it is not kept.
func (s *sharedSpecs) get(text []byte) *Spec {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[string(text)]
}

func (s *sharedSpecs) put(text []byte, spec *Spec) {
	if len(text) > maxSharedSpec {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= maxSharedSpecs {
		clear(s.kept)
	}
	s.kept[string(text)] = spec
}

// sharedSpec reads the spec of a definition, or finds it among those that are kept.
func (s *scanner) sharedSpec() *Spec {
	text := s.b[:max(0, len(s.b)-1)] // up to the end of the definition
	if op := bytes.LastIndex(text, []byte(`,"op":"`)); op >= 0 {
		text = text[:op]
	}
	// Only whole specs are kept, so that what is taken for one by mistake is not found.
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

// Share lets a spec that nobody else knows yet have in common with others what most of them say.
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

// usualDST is what Spec.WithDefaults sets.
var usualDST = Spec{}.WithDefaults().DST
