package auth

// File is what an operator writes about authentication: no secret stands in it.
type File struct {
	Tokens       []Token
	Bindings     []Binding
	Certificates map[string]string // principals by the common name of their certificates
}

// Token returns the token with an id; nil if there is none. Files have few tokens; those of the store have an index.
func (f *File) Token(id string) *Token {
	for i := range f.Tokens {
		if f.Tokens[i].ID == id {
			return &f.Tokens[i]
		}
	}
	return nil
}
