#!/usr/bin/env bash
# Compares what the scheduler does in thousands of fuzzed clusters with what an earlier version of this repository does in the same clusters:
#
#   hack/compare-traces.sh REVISION
#
# It prints the differences, and fails if there are any. Both run the fuzzed clusters of this tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=pkg/plugins/capacity
folder=$(mktemp -d)
trap 'git worktree remove --force "$folder/tree"; rm -rf "$folder"' EXIT
git worktree add --quiet --detach "$folder/tree" "$1"
rm -f "$folder/tree/$package"/fuzz_*_test.go
cp "$package"/fuzz_*_test.go "$folder/tree/$package/"

trace() { go test -C "$1" -timeout 60m "./$package" -run '^TestTraces$' -args -traces "$2"; }
trace . "$folder/new"
trace "$folder/tree" "$folder/old"
diff "$folder/old" "$folder/new"
