#!/usr/bin/env bash
# What durability costs, beside redis-server in turn: medians of ROUNDS rounds, and ratios to the same server without it and to Redis without it.
#
#	append-only file   SETs of CLIENTS connections, no file, everysec and always, pipeline 1 and 16: operations a second, CPU an operation
#	BGSAVE             of KEYS keys while SETs go on (pipeline LOAD_PIPELINE): the longest wait of a client that sends one GET after another, before
#	                   and during the save, the throughput of both, and how far resident memory grows (redis-server: what its child copied)
#
# Environment: DATA=/var/tmp a directory on the disk to measure; ROUNDS=3; RUNTIME=2 seconds each; CLIENTS=50; SIZE=64 bytes of a value; KEYS=2000000;
# LOAD_PIPELINE=16, LOAD_CLIENTS=20; MEMORY=4g of pyrope-server; PARTS="aof bgsave"; BIN=bin where the programs are.

source "$(dirname "$0")/measure.sh"
rounds=${ROUNDS:-3} runtime=${RUNTIME:-2} clients=${CLIENTS:-50} size=${SIZE:-64} keys=${KEYS:-2000000} memory=${MEMORY:-4g}
load_pipeline=${LOAD_PIPELINE:-16} load_clients=${LOAD_CLIENTS:-20} parts=${PARTS:-aof bgsave}
need redis-server redis-cli awk "$bin/pyrope-server" "$bin/pyrope-benchmark" "$bin/resp-bench"
make_work

# start_with SERVER MODE starts it with a fresh append-only file, or none.
start_with() {
	rm -rf -- "$work/$1"
	case $1-$2 in
	redis-none) start redis --appendonly no ;;
	redis-*) start redis --appendonly yes --appendfsync "$2" --auto-aof-rewrite-percentage 0 ;;
	pyrope-none) start pyrope --memory "$memory" --checkpointdir "$work/pyrope" ;;
	pyrope-*) start pyrope --memory "$memory" --checkpointdir "$work/pyrope" --aof --appendfsync "$2" ;;
	esac
}

aof_part() {
	local round server mode pipeline rate cpu
	for ((round = 0; round < rounds; round++)); do
		for mode in none everysec always; do
			for server in redis pyrope; do
				start_with "$server" "$mode"
				for pipeline in 1 16; do
					read -r rate cpu < <(load_for "$runtime" -t set -c "$clients" -P "$pipeline" -r 1000000 -d "$size") || { echo "cannot measure: no figure of $server, $mode" >&2; exit 1; }
					note "$server-$mode-$pipeline-rate" "$rate"
					note "$server-$mode-$pipeline-cpu" "$cpu"
				done
				stop_server
			done
		done
	done
	printf '%-9s %-8s %8s %12s %10s %10s %10s %10s %10s\n' aof server pipeline 'SET/s' 'CPU us' 'rate:none' 'CPU:none' 'rate:Redis' 'CPU:Redis'
	for mode in none everysec always; do
		for pipeline in 1 16; do
			for server in redis pyrope; do
				rate=$(middle "$server-$mode-$pipeline-rate") cpu=$(middle "$server-$mode-$pipeline-cpu")
				printf '%-9s %-8s %8d %12.0f %10.2f %10s %10s %10s %10s\n' "$mode" "$server" "$pipeline" "$rate" "$cpu" \
					"$(ratio "$rate" "$(middle "$server-none-$pipeline-rate")")" "$(ratio "$cpu" "$(middle "$server-none-$pipeline-cpu")")" \
					"$(ratio "$rate" "$(middle "redis-none-$pipeline-rate")")" "$(ratio "$cpu" "$(middle "redis-none-$pipeline-cpu")")"
			done
		done
	done
	echo "rate:Redis and CPU:Redis are multiples of redis-server without an append-only file"
}

# probe starts a client that sends one GET after another; end_probe ends it and sets $longest to its longest wait in milliseconds.
probe() {
	"$bin/resp-bench" -p "$port" --online --op-workload GET --op-percent 100 --keylength 16 --dbsize 1000 -t 1 -b 1 --runtime -1 --json-stdout >"$work/probe.log" 2>&1 &
	probe_pid=$!
	sleep 0.3
}
end_probe() {
	kill -INT "$probe_pid"
	wait "$probe_pid" || { cat "$work/probe.log" >&2; exit 1; }
	longest=$(awk 'match($0, /"max_us":[0-9.]+/) { ms = substr($0, RSTART + 9, RLENGTH - 9) / 1000 } END { if (ms > 0) print ms }' "$work/probe.log")
	[[ -n $longest ]] || { cat "$work/probe.log" >&2; echo "cannot measure: the probe has seen nothing" >&2; exit 1; }
}

# save_round SERVER measures one BGSAVE under load.
save_round() {
	local server=$1 load before calm saving after held most now began
	start_with "$server" none
	fill "$keys" "$size"
	"$bin/resp-bench" -p "$port" --op GET --keylength 16 --dbsize 1000 --runtime 0 >/dev/null # what the probe reads
	"$bin/pyrope-benchmark" -p "$port" -t set -n 1000000000000 -r "$keys" -d "$size" -c "$load_clients" -P "$load_pipeline" -q >"$work/load.log" 2>&1 &
	load=$!
	sleep 0.5
	held=$(resident) most=$held
	probe
	before=$(sample)
	sleep "$runtime"
	calm=$(sample)
	end_probe
	note "$server-calm" "$longest"
	probe
	saving=$(sample)
	began=$(date +%s%N)
	ask bgsave >/dev/null
	while sleep 0.1; [[ $(field persistence rdb_bgsave_in_progress) == 1 ]]; do
		now=$(resident)
		((now <= most)) || most=$now
	done
	note "$server-seconds" "$(awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { print ns / 1e9 }')"
	after=$(sample)
	end_probe
	note "$server-stall" "$longest"
	kill "$load"
	wait "$load" 2>/dev/null || true
	[[ $(field persistence rdb_last_bgsave_status) == ok ]] || { echo "cannot measure: BGSAVE of $server failed" >&2; exit 1; }
	note "$server-before" "$(cost "$before" "$calm" | cut -d' ' -f1)"
	note "$server-during" "$(cost "$saving" "$after" | cut -d' ' -f1)"
	if [[ $server == redis ]]; then
		most=$((held + $(field persistence rdb_last_cow_size)))
	fi
	note "$server-held" "$held"
	note "$server-growth" "$(awk -v a="$most" -v b="$held" 'BEGIN { print (a / b - 1) * 100 }')"
	stop_server
}

save_part() {
	local round server
	for ((round = 0; round < rounds; round++)); do
		for server in redis pyrope; do
			save_round "$server"
		done
	done
	printf '%-8s %9s %11s %11s %12s %12s %7s %9s %9s\n' BGSAVE seconds 'calm ms' 'stall ms' 'SET/s before' 'SET/s during' ratio 'RSS MB' 'growth %'
	for server in redis pyrope; do
		printf '%-8s %9.2f %11.2f %11.2f %12.0f %12.0f %7s %9.0f %9.1f\n' "$server" "$(middle "$server-seconds")" "$(middle "$server-calm")" "$(middle "$server-stall")" \
			"$(middle "$server-before")" "$(middle "$server-during")" "$(ratio "$(middle "$server-during")" "$(middle "$server-before")")" \
			"$(awk -v b="$(middle "$server-held")" 'BEGIN { print b / 1048576 }')" "$(middle "$server-growth")"
	done
	echo "stall: Pyrope is $(ratio "$(middle pyrope-stall)" "$(middle redis-stall)") of Redis; throughput during the save $(ratio "$(middle pyrope-during)" "$(middle redis-during)") of Redis"
}

echo "$rounds rounds of $runtime s, medians; values of $size bytes; append-only file: $clients connections; BGSAVE: $keys keys, load of $load_clients connections, pipeline $load_pipeline"
for part in $parts; do
	case $part in
	aof) aof_part ;;
	bgsave) save_part ;;
	*) echo "PARTS has '$part'; it may have aof and bgsave" >&2; exit 1 ;;
	esac
done
