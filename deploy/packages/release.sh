#!/usr/bin/env bash
# Builds bin/release: static binaries, archives, packages and a container image for each Linux, an SBOM, checksums. `make release` calls it.
#
# The version is that of the nearest git tag; VERSION=1.2.3 names another one. Two builds of one commit are equal.
set -euo pipefail
cd "$(dirname "$0")/../.."
VERSION=${VERSION:-$({ git describe --tags --match 'v[0-9]*' 2>/dev/null || true; } | sed 's/^v//')}
VERSION=${VERSION:-0.0.0+$(git rev-parse --short HEAD)}
export VERSION SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
SBOM=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
out=bin/release

rm -rf "$out"
mkdir -p "$out/share/man" "$out/share/completion" "$out/dist"
for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
	os=${target%/*} arch=${target#*/}
	echo "release: rota $VERSION for $target"
	CGO_ENABLED=0 GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=true -ldflags='-s -w' -o "$out/${os}_$arch/rota" ./cmd/rota
	tar --sort=name --owner=0 --group=0 --mtime="@$SOURCE_DATE_EPOCH" -C "$out/${os}_$arch" -cf - rota -C "$PWD" LICENSE README.md CHANGELOG.md |
		gzip -n >"$out/dist/rota_${VERSION}_${os}_$arch.tar.gz"
done

rota=$out/host/rota
CGO_ENABLED=0 go build -trimpath -buildvcs=true -o "$rota" ./cmd/rota
"$rota" man "$out/share/man"
gzip -n "$out"/share/man/*.1
"$rota" completion bash >"$out/share/completion/rota.bash"
"$rota" completion zsh >"$out/share/completion/_rota"
"$rota" completion fish >"$out/share/completion/rota.fish"

mkdir "$out/package"
for dir in "$out"/linux_*; do
	cp "$dir/rota" "$out/package/rota"
	deploy/packages/image.sh "${dir##*_}" "$dir/rota" "$out/dist/rota_${VERSION}_linux_${dir##*_}_image.tar.gz"
	for packager in deb rpm; do
		ARCH=${dir##*_} go run "$NFPM" package --config deploy/packages/nfpm.yaml --packager "$packager" --target "$out/dist/"
	done
done
go run "$SBOM" bin -json -version "v$VERSION" -output "$out/dist/rota_$VERSION.cdx.json" "$out/package/rota"
(cd "$out/dist" && sha256sum -- * >SHA256SUMS)
echo "release: $out/dist"
