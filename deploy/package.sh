#!/usr/bin/env bash
# Makes a Debian package of a binary: deploy/package.sh BINARY FOLDER
set -euo pipefail

binary=${1:?the hanse binary}
into=${2:?the folder that the package is put into}
here=$(cd "$(dirname "$0")" && pwd)
version=$("$binary" version | sed 's/^hanse \([^,]*\),.*/\1/')
architecture=$(dpkg --print-architecture)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

install -D -m 0755 "$binary" "$tree/usr/bin/hanse"
strip --strip-unneeded "$tree/usr/bin/hanse"
ln -s hanse "$tree/usr/bin/kubectl-hanse"
install -D -m 0644 "$here/hanse.service" "$tree/usr/lib/systemd/system/hanse.service"
install -d "$tree/usr/share/man/man1" "$tree/usr/share/bash-completion/completions" "$tree/usr/share/zsh/vendor-completions" \
    "$tree/usr/share/fish/vendor_completions.d" "$tree/DEBIAN"
"$binary" man | gzip -9n >"$tree/usr/share/man/man1/hanse.1.gz"
"$binary" completion bash >"$tree/usr/share/bash-completion/completions/hanse"
"$binary" completion zsh >"$tree/usr/share/zsh/vendor-completions/_hanse"
"$binary" completion fish >"$tree/usr/share/fish/vendor_completions.d/hanse.fish"
chmod 0755 "$tree"
cat >"$tree/DEBIAN/control" <<END
Package: hanse
Version: $version
Architecture: $architecture
Maintainer: The Hanse authors <hanse@example.com>
Depends: libc6, libgcc-s1, libstdc++6
Installed-Size: $(du --summarize --block-size=1K "$tree" | cut -f1)
Section: admin
Priority: optional
Description: federation API server
 One binary that speaks the Kubernetes API, gives every project a workspace of
 its own, and places objects in clusters.
END
mkdir -p "$into"
dpkg-deb --root-owner-group --build "$tree" "$into/hanse_${version}_$architecture.deb"
