// Package fill fills in the templates of HTTP jobs and their references.
//
// A reference is resolved while the template is executed. So a value is never read as a template, and a text from a
// client, such as a key, is never read as a reference.
package fill
