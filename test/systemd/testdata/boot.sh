#!/bin/bash
# boot.sh ROOT CGROUP boots the Debian in ROOT. CGROUP is the directory of an empty cgroup, version 2.
set -euo pipefail
root=$1
echo $$ >"$2/cgroup.procs"
exec unshare --fork --pid --mount --uts --ipc --net --cgroup --kill-child bash -euc '
root=$1
mount --make-rprivate /
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 none "$root/sys/fs/cgroup"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
# Devices of its own: systemd changes modes and owners of those in its /dev.
cp -a "$root/dev" "$root/tmp/dev"
mount -t tmpfs tmpfs "$root/dev"
cp -a "$root/tmp/dev/." "$root/dev/"
mkdir -p "$root/dev/pts" "$root/dev/shm"
mount -t devpts devpts "$root/dev/pts"
ip link set lo up
cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
mount --make-rshared / # else the credentials of a unit do not reach it
exec env -i container=docker PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/usr/lib/systemd/systemd --system --log-target=journal-or-kmsg --show-status=no
' boot "$root"
