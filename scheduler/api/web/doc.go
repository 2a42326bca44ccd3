// Package web is the page that shows a cluster to people.
//
// The server renders each view as HTML. A small script of our own keeps an open view current, and the page works without it.
// Everything is embedded in the binary. A strict Content-Security-Policy forbids all other sources.
//
// The page has no power of its own: it acts only through api.Operations, which check the rights of its client.
package web
