// Package page uses the page of a real cluster in a real browser, as people do.
//
// It has only tests. They need Debian's Chromium; without it they skip, unless ROTA_CI=1.
package page
