#!/usr/bin/env bash
# Random operations against a model, on devices that fail, tear writes and answer late: rounds with the
# invariants build for SOAK, then rounds under the race detector for RACE_SOAK, each round with a seed of
# its own. It stops at the first failure and prints the seed.
#
# Environment: SOAK=1h and RACE_SOAK=10m, each a number with s, m or h (0s leaves it out); CONFIGURATIONS=faults
# is a pattern for the names of the package's configurations (. is all of them).

set -euo pipefail

package=./tsavorite/metamorphic
configurations=${CONFIGURATIONS:-faults}

# seconds DURATION is a number with s, m or h in seconds.
seconds() {
	[[ $1 =~ ^([0-9]+)([smh])$ ]] || { echo "the duration is '$1'; it must be a number with s, m or h" >&2; exit 1; }
	case ${BASH_REMATCH[2]} in
	s) echo "${BASH_REMATCH[1]}" ;;
	m) echo $((BASH_REMATCH[1] * 60)) ;;
	h) echo $((BASH_REMATCH[1] * 3600)) ;;
	esac
}

# soak NAME CGO SECONDS FLAG... builds the tests with the flags and runs rounds until the time is over.
soak() {
	local name=$1 cgo=$2 limit=$3 round=0 seed start=$SECONDS
	shift 3
	((limit > 0)) || return 0
	CGO_ENABLED=$cgo go test -c "$@" -o "$work/$name.test" "$package"
	while ((SECONDS - start < limit)); do
		seed=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
		round=$((round + 1))
		if ! (cd "$package" && TMPDIR=$work "$work/$name.test" -test.run "^TestMetamorphic\$/$configurations" -test.timeout 30m -seed "$seed") >"$work/output" 2>&1; then
			cat "$work/output"
			echo "$name: round $round failed with seed $seed; again: CGO_ENABLED=$cgo go test $* $package -run '^TestMetamorphic\$/$configurations' -seed $seed"
			exit 1
		fi
		grep -q 'no tests to run' "$work/output" && { echo "CONFIGURATIONS is '$configurations'; no configuration has such a name" >&2; exit 1; }
		echo "$name: round $round passed, seed $seed, $((SECONDS - start)) of $limit s"
	done
}

soak_seconds=$(seconds "${SOAK:-1h}")
race_seconds=$(seconds "${RACE_SOAK:-10m}")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM
soak invariants 0 "$soak_seconds" -tags invariants
soak race 1 "$race_seconds" -race -tags invariants
echo "soak passed"
