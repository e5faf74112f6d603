#!/usr/bin/env bash
# Short-lived keys on a server with a tier, an append-only file and checkpoints: RATE writes a second of SIZE bytes that live TTL
# seconds, for DURATION. Prints a line every INTERVAL seconds (seconds, bytes of all files, resident bytes of the process, live keys),
# writes them to OUTPUT.csv and a plot to OUTPUT.svg, and fails when the files exceed FACTOR times what is live, or grow over the second half.
#
# Environment: DURATION=1h RATE=2000 SIZE=1000 TTL=5 INTERVAL=10 FACTOR=20 DATA=DIR OUTPUT=soak-ttl ARGS="server options"

set -euo pipefail

rate=${RATE:-2000} size=${SIZE:-1000} ttl=${TTL:-5} interval=${INTERVAL:-10} factor=${FACTOR:-20} output=${OUTPUT:-soak-ttl}
[[ ${DURATION:=1h} =~ ^([0-9]+)([smh])$ ]] || { echo "DURATION is '$DURATION'; it must be a number with s, m or h" >&2; exit 1; }
declare -A unit=([s]=1 [m]=60 [h]=3600)
duration=$((BASH_REMATCH[1] * unit[${BASH_REMATCH[2]}]))
data=$(mktemp -d "${DATA:-${TMPDIR:-/tmp}}/soak-ttl.XXXXXX")
server=0 load=0
cleanup() {
	kill "$load" "$server" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf -- "$data"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# shellcheck disable=SC2086
bin/pyrope-server --port 0 --unixsocket "$data/socket" --quiet --memory 64m --storage-tier --logdir "$data/log" --checkpointdir "$data/state" \
	--segment 16m --aof --aof-commit-freq 1000 --aof-size-limit 64m ${ARGS:-} >"$data/output" 2>&1 &
server=$!
for _ in $(seq 100); do
	[[ -S $data/socket ]] && break
	kill -0 "$server" 2>/dev/null || { cat "$data/output" >&2; exit 1; }
	sleep 0.1
done
ask() { redis-cli -s "$data/socket" "$@"; }

# A tenth of a second's writes at a time, down one connection.
writes() {
	local value key=0 n=$((rate / 10)) next
	value=$(head -c "$size" /dev/zero | tr '\0' x)
	next=$(date +%s%N)
	while :; do
		for ((i = 0; i < n; i++)); do
			printf 'SET key:%d %s EX %d\r\n' $((key++)) "$value" "$ttl"
		done
		next=$((next + 100000000))
		sleep "$(awk -v d=$((next - $(date +%s%N))) 'BEGIN { print (d > 0 ? d / 1e9 : 0) }')"
	done
}
writes | redis-cli -s "$data/socket" >/dev/null &
load=$!

echo "seconds,files,resident,keys" | tee "$output.csv"
started=$SECONDS
while ((SECONDS - started < duration)); do
	sleep "$interval"
	files=$(du -s --block-size=1 "$data/log" "$data/state" 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }')
	resident=$(awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$server/status")
	echo "$((SECONDS - started)),$files,$resident,$(ask DBSIZE)" | tee -a "$output.csv"
done

awk -F, -v live=$((rate * size * ttl)) -v factor="$factor" -v svg="$output.svg" '
	NR > 1 { t[++n] = $1; f[n] = $2; r[n] = $3; if ($2 > top) top = $2; if ($3 > top) top = $3 }
	function line(v, colour,  i, points) {
		for (i = 1; i <= n; i++) points = points sprintf("%.1f,%.1f ", 60 + 700 * t[i] / t[n], 260 - 240 * v[i] / top)
		printf "<polyline fill=\"none\" stroke=\"%s\" points=\"%s\"/>\n", colour, points > svg
	}
	END {
		print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"780\" height=\"300\" font-family=\"sans-serif\" font-size=\"12\">" > svg
		line(f, "#c03020"); line(r, "#2050a0")
		printf "<text x=\"60\" y=\"14\">%.0f MB at the top, %d s; red: files, blue: resident memory</text></svg>\n", top / 1e6, t[n] > svg
		for (i = 1; i <= n; i++) if (i > n / 2) { k++; st += t[i]; sf += f[i]; stt += t[i] * t[i]; stf += t[i] * f[i]; if (f[i] > most) most = f[i] }
		slope = k > 1 ? (k * stf - st * sf) / (k * stt - st * st) : 0
		printf "live about %.1f MB, files at most %.1f MB in the second half (%.1f times), slope %.3f MB a minute\n", live / 1e6, most / 1e6, most / live, slope * 60 / 1e6
		exit most > factor * live || slope * (t[n] - t[1]) / 2 > most / 2
	}' "$output.csv"
