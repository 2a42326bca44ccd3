// Package runbooks runs the commands of the runbooks in docs/how-to on real clusters.
//
// A block of a page that a test runs names its host after the language. Each host has a network namespace of its own, its own
// /etc/rota, /var/lib/rota, /usr/local/bin and /root, and the name and the address that the page uses. So the commands run as
// they stand there:
//
//	```sh q1              as root on host q1
//	```sh q1 q2 q3        on q1, then on q2, then on q3
//	```sh admin           on the machine of the operator
//	```sh q1 look         on q1; the exit code may be any
//	```yaml settings q1   merged into /etc/rota/rota.yaml of q1
//
// Exported variables and the current directory last until the end of the test, as in a session. On each host, systemctl and
// journalctl are scripts that know the units rota, rota-worker and etcd; ssh and scp reach the other hosts.
//
// It needs root, ip and openssl. If one of them is missing the tests are skipped; with ROTA_CI=1 they fail. All processes and networks end
// with the test binary.
package runbooks
