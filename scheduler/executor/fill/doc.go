// Package fill writes the texts of HTTP jobs: it fills in what templates name, and references.
//
// A reference is resolved while the template is executed, so that neither is a value taken for a template, nor something that
// a caller chose (a key) for a reference.
package fill
