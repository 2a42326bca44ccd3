package auth

// File is the content of an auth.file, which an operator writes. It contains no secret.
type File struct {
	Tokens       []Token
	Bindings     []Binding
	Certificates map[string]string // principals by the common name of their certificates
}

// Token returns the token with an id; nil if there is none. It searches one by one, because files have few tokens. The tokens of
// the store have an index.
func (f *File) Token(id string) *Token {
	for i := range f.Tokens {
		if f.Tokens[i].ID == id {
			return &f.Tokens[i]
		}
	}
	return nil
}
