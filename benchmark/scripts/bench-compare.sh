#!/usr/bin/env bash
# Go benchmarks of this tree beside those of another commit: both are built first, then run in turn, and the
# comparison is benchstat's. BASE=COMMIT is required. BENCH is a pattern (BenchmarkEngine$), PACKAGE where it is
# (./tsavorite), ROUNDS how often each runs (6), BENCHTIME how long (200ms).
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BASE:?give the commit to compare with: make bench-compare BASE=COMMIT}"
BENCH=${BENCH:-BenchmarkEngine\$} PACKAGE=${PACKAGE:-./tsavorite} ROUNDS=${ROUNDS:-6} BENCHTIME=${BENCHTIME:-200ms}
BENCHSTAT=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$BASE"
export CGO_ENABLED=0
(cd "$work/base" && go test -c -o "$work/base.test" "$PACKAGE")
go test -c -o "$work/head.test" "$PACKAGE"
for ((round = 1; round <= ROUNDS; round++)); do
	for side in base head; do
		echo "round $round of $ROUNDS: $side" >&2
		(cd "$PACKAGE" && "$work/$side.test" -test.run '^$' -test.bench "$BENCH" -test.benchmem -test.benchtime "$BENCHTIME") >>"$work/$side.txt"
	done
done
cd "$work" && go run "$BENCHSTAT" base.txt head.txt
