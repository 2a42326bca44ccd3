// Package systemd tests the Debian package under a real systemd.
//
// debootstrap makes a small Debian in the user's cache directory, once. Each test boots it in namespaces of its own, above a
// layer that is thrown away. The tests need root, debootstrap and Debian's archive. Without them they are skipped; with ROTA_CI=1
// they fail.
package systemd
