// Package heldfile lets tests of executors meet a file that cannot be opened, like one on a file server that does not answer.
package heldfile
