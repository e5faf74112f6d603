#!/usr/bin/env bash
# Latencies at half load, beside redis-server in turn: what each server can do with THREADS connections that send one operation after another is
# measured first; half of the slower one's is then sent to both at equal intervals (resp-bench --online --rate), in ROUNDS rounds. Medians of the
# rounds' percentiles, and ratios.
#
# Environment: ROUNDS=3; RUNTIME=5 whole seconds each; THREADS=16 connections; KEYS=100000; SIZE=64 bytes; WORKLOAD=GET,SET with PERCENT=80,20;
# RATE= operations a second instead of half of what the slower server can do; CLIENT=LightClient (or another of resp-bench); ARGS= further options of
# pyrope-server; BIN=bin where the programs are; DATA=/var/tmp for what the servers write.

source "$(dirname "$0")/measure.sh"
rounds=${ROUNDS:-3} runtime=${RUNTIME:-5} threads=${THREADS:-16} keys=${KEYS:-100000} size=${SIZE:-64} rate=${RATE:-}
workload=(--op-workload "${WORKLOAD:-GET,SET}" --op-percent "${PERCENT:-80,20}" --client "${CLIENT:-LightClient}")
need redis-server redis-cli awk "$bin/pyrope-server" "$bin/resp-bench"
make_work

client() { "$bin/resp-bench" -p "$port" --dbsize "$keys" --keylength 16 --valuelength "$size" "$@" >"$work/client.log" 2>&1 || { cat "$work/client.log" >&2; exit 1; }; }

# begin SERVER starts it, without any file, and loads it.
begin() {
	case $1 in
	redis) start redis --appendonly no ;;
	# shellcheck disable=SC2086
	pyrope) start pyrope ${ARGS:-} ;;
	esac
	client --op GET --runtime 0
}

# figure NAME prints a number of the last run's line of JSON.
figure() { first_number awk -v name="\"$1\":" '/^RESP-RESULT-JSON/ && (i = index($0, name)) { print substr($0, i + length(name)) + 0 }' "$work/client.log"; }

if [[ -z $rate ]]; then
	for server in redis pyrope; do
		begin "$server"
		client --online "${workload[@]}" -t "$threads" -b 1 --runtime 3 --json-stdout
		note most "$(figure ops_per_sec)"
		stop_server
	done
	rate=$(printf '%s\n' ${noted[most]} | sort -g | awk 'NR == 1 { print int($1 / 2) }')
	echo "most operations a second with $threads connections (redis, pyrope):${noted[most]}"
fi
echo "$rate operations a second over $threads connections, $rounds rounds of $runtime s, medians, microseconds"
for ((round = 0; round < rounds; round++)); do
	for server in redis pyrope; do
		begin "$server"
		before=$(sample)
		client --online "${workload[@]}" -t "$threads" -b 1 --runtime "$runtime" --rate "$rate" --json-stdout
		note "$server-cpu" "$(cost "$before" "$(sample)" | cut -d' ' -f2)"
		note "$server-rate" "$(figure ops_per_sec)"
		for column in median p95 p99 p999 max; do
			note "$server-$column" "$(figure "${column}_us")"
		done
		stop_server
	done
done
printf '%-8s %10s %9s %9s %9s %9s %9s %9s\n' server ops/s 'CPU us' median 95th 99th 99.9th max
for server in redis pyrope; do
	printf '%-8s %10.0f %9.2f %9.0f %9.0f %9.0f %9.0f %9.0f\n' "$server" "$(middle "$server-rate")" "$(middle "$server-cpu")" "$(middle "$server-median")" "$(middle "$server-p95")" \
		"$(middle "$server-p99")" "$(middle "$server-p999")" "$(middle "$server-max")"
done
printf '%-8s %10s %9s %9s %9s %9s %9s %9s\n' ratio "$(ratio "$(middle pyrope-rate)" "$(middle redis-rate)")" $(for column in cpu median p95 p99 p999 max; do ratio "$(middle "pyrope-$column")" "$(middle "redis-$column")"; echo; done)
