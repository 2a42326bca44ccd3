package auth

// File is the content of an auth.file, which an operator writes. It contains no secret.
type File struct {
	Tokens       []Token
	Bindings     []Binding
	Certificates map[string]string // principals by the common name of their certificates

	byID map[string]*Token // nil before Index
}

// Token returns the token with an id; nil if there is none. After Index, it takes the same time with many tokens as with few.
func (f *File) Token(id string) *Token {
	if f.byID != nil {
		return f.byID[id]
	}
	for i := range f.Tokens {
		if f.Tokens[i].ID == id {
			return &f.Tokens[i]
		}
	}
	return nil
}

// Index prepares the look-up of tokens. Tokens must not change afterwards.
func (f *File) Index() {
	f.byID = make(map[string]*Token, len(f.Tokens))
	for i := range f.Tokens {
		if id := f.Tokens[i].ID; f.byID[id] == nil {
			f.byID[id] = &f.Tokens[i]
		}
	}
}
