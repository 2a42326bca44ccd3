// Package suggest finds the word that was probably meant.
package suggest
