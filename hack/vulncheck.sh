#!/usr/bin/env bash
# Looks for known vulnerabilities in what Ambit calls. The database is on the network,
# or where GOVULNDB says; where it cannot be reached nothing is known, and that is
# said, and is no failure: a vulnerability that is found is one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

found=3 # what govulncheck exits with when there is one
status=0
output=$(go tool -modfile="$PWD/hack/tools/go.mod" govulncheck ${GOVULNDB:+-db "$GOVULNDB"} ./cmd/... ./pkg/... 2>&1) || status=$?
if [ $status -ne 0 ] && [ $status -ne $found ] && grep -q 'fetching vulnerabilities' <<<"$output"; then
  printf 'vulncheck: NOT CHECKED, the database of vulnerabilities cannot be reached: %s\n' "$(tail -n 1 <<<"$output")"
  exit 0
fi
printf '%s\n' "$output"
exit $status
