#!/bin/sh
# Makes the user rota. A service that was already running gets the new binary; a new one starts with `systemctl enable --now rota`.
set -e
systemd-sysusers /usr/lib/sysusers.d/rota.conf
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	for unit in rota.service rota-worker.service; do
		systemctl try-restart --no-block "$unit"
	done
fi
