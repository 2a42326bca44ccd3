// Command words draws samples of the documentation at random, for a reader who judges how they read.
//
// The draw is repeatable: the same seed on the same tree gives the same list.
package main
