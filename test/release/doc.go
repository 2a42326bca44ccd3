// Package release builds released versions of rota, for tests that compare them with the present one.
package release
