#!/usr/bin/env bash
# Writes a container image for `docker load`, without Docker: image.sh ARCH BINARY FILE. deploy/Dockerfile describes the same image.
# release.sh calls it. VERSION and SOURCE_DATE_EPOCH come from the environment.
set -euo pipefail
arch=$1 binary=$2 file=$(realpath "$3")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir -p "$dir/root/etc/ssl/certs" "$dir/owned/var/lib/rota" "$dir/owned/tmp"
chmod 1777 "$dir/owned/tmp"
cp "$binary" "$dir/root/rota"
if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
	cp /etc/ssl/certs/ca-certificates.crt "$dir/root/etc/ssl/certs/"
else
	echo "release: no /etc/ssl/certs/ca-certificates.crt here: https jobs need SSL_CERT_FILE" >&2
fi
same=(--sort=name --mtime="@$SOURCE_DATE_EPOCH" --format=gnu)
tar "${same[@]}" --owner=0 --group=0 -C "$dir/root" -cf "$dir/layer.tar" rota etc
tar "${same[@]}" --owner=65532 --group=65532 -C "$dir/owned" -rf "$dir/layer.tar" var/lib/rota tmp

cat >"$dir/config.json" <<END
{"architecture": "$arch", "os": "linux", "created": "$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)",
 "config": {
  "User": "65532:65532", "Env": ["XDG_STATE_HOME=/var/lib"], "Entrypoint": ["/rota"], "Cmd": ["serve"],
  "ExposedPorts": {"8470/tcp": {}, "2379/tcp": {}, "2380/tcp": {}}, "Volumes": {"/var/lib/rota": {}},
  "Healthcheck": {"Test": ["CMD", "/rota", "health", "--ready"],
   "Interval": 5000000000, "Timeout": 3000000000, "StartPeriod": 20000000000, "Retries": 3}},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum "$dir/layer.tar" | cut -d ' ' -f 1)"]},
 "history": [{"created_by": "deploy/packages/image.sh"}]}
END
# A tag cannot have the + of a version.
echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"rota:${VERSION//+/-}\"], \"Layers\": [\"layer.tar\"]}]" >"$dir/manifest.json"
tar "${same[@]}" --owner=0 --group=0 -C "$dir" -cf - manifest.json config.json layer.tar | gzip -n >"$file"
