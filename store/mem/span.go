package mem

// span is the set of keys that a request's key and range end denote.
type span struct {
	key  string
	end  string // exclusive; ignored if one or open
	one  bool   // exactly key
	open bool   // key and all greater keys
}

// spanOf parses etcd's notation: without an end, the span is one key; the end
// "\x00" means that there is no upper bound.
func spanOf(key, end []byte) span {
	s := span{key: string(key), end: string(end)}
	switch {
	case len(end) == 0:
		s.one = true
	case len(end) == 1 && end[0] == 0:
		s.open = true
	}
	return s
}

func (s span) contains(key string) bool {
	if s.one {
		return key == s.key
	}
	return key >= s.key && s.below(key)
}

// below reports whether key is less than the upper bound.
func (s span) below(key string) bool {
	switch {
	case s.one:
		return key <= s.key
	case s.open:
		return true
	}
	return key < s.end
}

// empty reports whether the span is a range that can hold no key.
func (s span) empty() bool { return !s.one && !s.open && s.key >= s.end }
