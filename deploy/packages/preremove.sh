#!/bin/sh
# Stops the services, unless the package is being upgraded (deb: upgrade, rpm: 1).
set -e
case "$1" in upgrade | 1) exit 0 ;; esac
if [ -d /run/systemd/system ]; then
	systemctl --no-reload disable --now rota.service rota-worker.service
fi
