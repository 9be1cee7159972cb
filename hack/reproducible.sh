#!/usr/bin/env bash
# Builds Ambit from two copies of the committed and uncommitted sources, in folders
# with other names and with caches of their own for what is Ambit's, and compares the
# bytes. Usage: reproducible.sh VERSION
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for copy in one a/much/longer/way/to/two; do
  mkdir -p "$work/$copy"
  cp -R go.mod go.sum Makefile cmd pkg "$work/$copy/"
  make -s -C "$work/$copy" build VERSION="$version"
done
sums=$(cd "$work" && sha256sum one/bin/ambit a/much/longer/way/to/two/bin/ambit)
printf '%s\n' "$sums"
[ "$(cut -d' ' -f1 <<<"$sums" | sort -u | wc -l)" = 1 ] || { echo "two builds of one source differ"; exit 1; }
