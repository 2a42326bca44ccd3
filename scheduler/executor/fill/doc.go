// Package fill fills in the texts of HTTP jobs: templates with references.
//
// A reference is resolved while the template is executed. So a value is never read as a template, and a text from a
// client, such as a key, is never read as a reference.
package fill
