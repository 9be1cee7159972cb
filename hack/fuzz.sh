#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other, each for as long as it is told,
# and stops at the first that fails: Go has then written the input that did it to
# testdata/fuzz of the package. Fix what it found, and commit that file with the fix.
#
# With `keep` it also puts the smallest of the inputs that reached new code into
# testdata/fuzz, as many as fit in KEEP_BYTES for each target. `go test` runs them all.
#
# Usage: fuzz.sh TIME [keep] [TARGET]        TARGET is a regular expression, such as FuzzDiff
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=$1 keep= targets=.
shift
[[ ${1:-} != keep ]] || { keep=1; shift; }
[[ $# == 0 ]] || targets=$1
KEEP_BYTES=${KEEP_BYTES:-8192}

# corpus copies what the fuzzer found of one target, smallest first, into the package.
corpus() {
  local package=$1 target=$2 folder bytes=0 size file
  folder=$(go list -f '{{.Dir}}' "$package")/testdata/fuzz/$target
  [[ -d $found/$target ]] || return 0
  mkdir -p "$folder"
  while read -r size file; do
    bytes=$((bytes + size))
    ((bytes <= KEEP_BYTES)) || break
    cp "$found/$target/$file" "$folder/$file"
  done < <(cd "$found/$target" && wc -c -- * | sed '/ total$/d' | LC_ALL=C sort -k1,1n -k2)
  echo "    $(find "$folder" -type f | wc -l) inputs in ${folder#"$PWD"/}"
}

ran=0
for folder in $(grep -rl --include='*_test.go' '^func Fuzz' cmd pkg test hack | xargs -n1 dirname | sort -u); do
  package=./$folder
  for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' | grep -E "$targets" || true); do
    echo "==> $package $target for $time"
    found=$(go env GOCACHE)/fuzz/$(go list "$package")
    # Without a bound each input that reaches new code is made smaller for a minute first.
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$package"
    [[ -z $keep ]] || corpus "$package" "$target"
    ran=$((ran + 1))
  done
done
((ran > 0)) || { echo "no fuzz target matches $targets" >&2; exit 1; }
echo "$ran fuzz targets, each for $time: no failure"
