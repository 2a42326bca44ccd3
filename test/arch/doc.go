// Package arch proves that the tree keeps the shape that the design gives it: imports point one way, each package says
// what it is, and only programs end the process.
package arch
