#!/usr/bin/env bash
# What a GET costs whose record is on the device: the same keys on a server that holds them in memory, on one that holds a twentieth of them and the
# rest on the disk, and on one whose device is memory too (LocalMemory): GETs of CONNECTIONS connections at each of PIPELINES, and in process, without
# sockets, in batches of BATCH. CPU an operation of the server (in process: of everything), what it costs more than our own GET from memory, and
# operations a second; redis-server, which holds everything in memory, beside them. Medians of ROUNDS rounds, the disk warmed.
#
# Environment: DATA=/var/tmp a directory on the disk to measure; KEYS=1000000; SIZE=96 bytes of a value; ROUNDS=3; RUNTIME=2 whole seconds each; CONNECTIONS=64;
# PIPELINES="1 16 64"; BATCH=1024 (0: not in process); MEMORY=16m of the server with a device; DEVICE="--device-type Native --device-io-backend Libaio";
# SERVERS="redis memory disk local"; BIN=bin where the programs are.

source "$(dirname "$0")/measure.sh"
keys=${KEYS:-1000000} size=${SIZE:-96} rounds=${ROUNDS:-3} runtime=${RUNTIME:-2} connections=${CONNECTIONS:-64} pipelines=${PIPELINES:-1 16 64} batch=${BATCH:-1024}
small=${MEMORY:-16m} device=${DEVICE:---device-type Native --device-io-backend Libaio} servers=${SERVERS:-redis memory disk local}
need awk redis-cli "$bin/pyrope-server" "$bin/pyrope-benchmark" "$bin/resp-bench"
[[ " $servers " != *" redis "* ]] || need redis-server
make_work
index=$(awk -v keys="$keys" 'BEGIN { for (n = 4194304; n < keys * 16; n *= 2); print n }') # four keys a bucket, so that no server is still growing it

# begin SERVER starts it and loads it. It reads every key once, which warms the disk, and counts the misses.
begin() {
	rm -rf -- "$work/redis" "$work/pyrope"
	local tier=(--index "$index" --memory "$small" --page 1m --segment 64m --storage-tier --logdir "$work/pyrope")
	case $1 in
	redis) start redis --appendonly no ;;
	memory) start pyrope --index "$index" ;;
	# shellcheck disable=SC2086
	disk) start pyrope "${tier[@]}" $device ;;
	local) start pyrope "${tier[@]}" --device-type LocalMemory ;;
	*) echo "SERVERS has '$1'; it may have redis, memory, disk and local" >&2; exit 1 ;;
	esac
	fill "$keys" "$size"
	"$bin/pyrope-benchmark" -p "$port" -t get -n "$keys" -r "$keys" -c 4 -P 256 --sequential -q >"$work/load.log" 2>&1 || { cat "$work/load.log" >&2; exit 1; }
	local misses
	misses=$(field stats keyspace_misses)
	((misses == 0)) || { echo "cannot measure: $misses GETs of $keys found nothing" >&2; exit 1; }
}

# in_process SERVER notes what an operation costs in process.
in_process() {
	local more=() rate cpu
	case $1 in
	memory) ;;
	disk) more=(--memory "$small" --server-option "page=1m;segment=64m;storage-tier=yes;logdir=$work/process;$(awk '{ for (i = 1; i < NF; i += 2) { sub("^--", "", $i); printf "%s%s=%s", (i > 1 ? ";" : ""), $i, $(i + 1) } }' <<<"$device")") ;;
	local) more=(--memory "$small" --server-option "page=1m;segment=64m;storage-tier=yes;logdir=$work/process;device-type=LocalMemory") ;;
	*) return ;;
	esac
	mkdir -p "$work/process"
	"$bin/resp-bench" --client InProc --index "$index" "${more[@]}" --op GET --dbsize "$keys" --keylength 16 --valuelength "$size" -t 1 -b "$batch" --runtime "$runtime" \
		--totalops 4000000 >"$work/client.log" 2>&1 || { cat "$work/client.log" >&2; exit 1; }
	read -r rate cpu < <(awk '/^\[Throughput\]/ { gsub(",", "", $2); rate = $2 } /^\[CPU\]/ { cpu = $2 } /^\[Misses\]/ { cpu = "" } END { if (cpu) print rate, cpu }' "$work/client.log") ||
		{ cat "$work/client.log" >&2; echo "cannot measure: no figure in process, or misses" >&2; exit 1; }
	note "$1-process-rate" "$rate"
	note "$1-process-cpu" "$cpu"
	rm -rf -- "$work/process"
}

echo "$keys keys of 16 + $size bytes, $connections connections; with a device $small of memory; disk: $device; $rounds rounds of $runtime s, medians"
for ((round = 0; round < rounds; round++)); do
	for server in $servers; do
		begin "$server"
		for pipeline in $pipelines; do
			read -r rate cpu < <(load_for "$runtime" -t get -r "$keys" -c "$connections" -P "$pipeline") || { echo "cannot measure: no figure of $server" >&2; exit 1; }
			note "$server-$pipeline-rate" "$rate"
			note "$server-$pipeline-cpu" "$cpu"
		done
		[[ $(field stats keyspace_misses) == 0 ]] || { echo "cannot measure: GETs found nothing" >&2; exit 1; }
		stop_server
		((batch == 0)) || in_process "$server"
	done
done
printf '%-8s %9s %12s %9s %14s %12s\n' server pipeline 'GET/s' 'CPU us' 'over memory us' 'CPU:Redis'
((batch == 0)) || pipelines+=" process"
for pipeline in $pipelines; do
	for server in $servers; do
		[[ -n ${noted[$server-$pipeline-cpu]:-} ]] || continue
		cpu=$(middle "$server-$pipeline-cpu") over=- beside=-
		[[ -z ${noted[memory-$pipeline-cpu]:-} || $server == redis ]] || over=$(awk -v a="$cpu" -v b="$(middle "memory-$pipeline-cpu")" 'BEGIN { printf "%.2f", a - b }')
		[[ -z ${noted[redis-$pipeline-cpu]:-} ]] || beside=$(ratio "$cpu" "$(middle "redis-$pipeline-cpu")")
		printf '%-8s %9s %12.0f %9.2f %14s %12s\n' "$server" "$pipeline" "$(middle "$server-$pipeline-rate")" "$cpu" "$over" "$beside"
	done
done
