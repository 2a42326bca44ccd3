// Package page opens the page of a real cluster in a browser, and uses it as people do.
//
// It has only tests. They need Debian's Chromium; without it they skip, unless ROTA_CI=1.
package page
