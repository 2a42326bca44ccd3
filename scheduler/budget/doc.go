// Package budget bounds what a template may take.
//
// The functions of text/template have no bounds. A text of a few hundred bytes can print a value twice, print the result twice, and
// so on, until the process has no memory. It can also loop for ever. Authors of jobs and hooks write such texts, and replicas and
// workers execute them.
package budget
