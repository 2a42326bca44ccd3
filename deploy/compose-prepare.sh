#!/usr/bin/env bash
# Makes what the Compose files with TLS need, in one directory: certificates, roles and data directories. It replaces nothing.
#
#	deploy/compose-prepare.sh bin/rota .compose
set -euo pipefail
umask 077
rota=$1 dir=$2
mkdir -p "$dir"/{q1,q2,q3,w1,etcd-1,etcd-2,etcd-3}

# issue AUTHORITY NAME ROLE
issue() {
	[ -e "$dir/$1/$2.crt" ] || "$rota" pki issue "$2" --role "$3" --dir "$dir/$1"
}

for authority in pki etcd-pki; do
	[ -e "$dir/$authority/ca.crt" ] || "$rota" pki init --cluster compose --dir "$dir/$authority"
	for name in q1 q2 q3; do
		issue "$authority" "$name" replica
	done
	issue "$authority" w1 worker
done
for name in etcd-1 etcd-2 etcd-3; do
	issue etcd-pki "$name" replica
done
issue pki admin user
[ -e "$dir/auth.yaml" ] || echo 'bindings: [{principal: admin, role: admin}]' >"$dir/auth.yaml"
