#!/usr/bin/env bash
# Reads of the same records by ever more of the program, on the same device and with as many in flight:
#
#	fio         the disk
#	device      the device layer alone
#	kv          the engine over it, with 16 MB of memory
#	resp        the server over that, one connection with full pipelines
#
# Each rung can be at most as fast as the one before. Then the same without fio over LocalMemory.
#
# Environment: DATA=/var/tmp a directory on the disk to measure; KEYS=2000000 of VALUE=96 bytes; DEPTH=256 reads
# in flight; ROUNDS=3 (medians); RUNTIME=3 seconds each; ENGINE=libaio or io_uring; BIN=bin where the programs are.

source "$(dirname "$0")/measure.sh"
keys=${KEYS:-2000000} value=${VALUE:-96} depth=${DEPTH:-256} rounds=${ROUNDS:-3} runtime=${RUNTIME:-3} engine=${ENGINE:-libaio}
case $engine in
libaio) backend=Libaio ;;
io_uring) backend=Uring ;;
*) echo "ENGINE is $engine; it must be libaio or io_uring" >&2; exit 1 ;;
esac
need fio dd awk "$bin/device-bench" "$bin/kv-bench" "$bin/resp-bench" "$bin/pyrope-server"
make_work

# The file that fio and device-bench read has the size of the records' log, in whole steps of device-bench.
file_bytes=$(((keys * (value + 32) + 524287) / 524288 * 524288))

run_kv() {
	"$bin/kv-bench" -n "$keys" -v "$value" --log-memory 16m --page-size 4m --segment-size 64m -b "$depth" --runsec "$runtime" --warmup-sec 1 \
		--warm --quiet --data-path "$work/kv" "$@" | awk '/^\[aggregate/ { for (i = 1; i <= NF; i++) if (sub("mean=", "", $i) && $i !~ /trimmed/) { gsub(",", "", $i); print $i; exit } }'
}

# run_resp OPTION... starts a server with the options, loads it, reads every key once and measures.
run_resp() {
	local port try common=(--dbsize "$keys" --keylength 16 --valuelength "$value")
	mkdir -p "$work/server"
	"$bin/pyrope-server" --port 0 --memory 16m --page 4m --segment 64m --storage-tier --logdir "$work/server" "$@" >"$work/server.log" 2>&1 &
	server_pid=$!
	trap stop_server EXIT # of the subshell that this runs in
	for ((try = 0; try < 100; try++)); do
		grep -q 'Ready to accept' "$work/server.log" && break
		kill -0 "$server_pid" 2>/dev/null || { cat "$work/server.log" >&2; exit 1; }
		sleep 0.1
	done
	port=$(sed -n 's/.*listening address=.*:\([0-9]*\)$/\1/p' "$work/server.log" | head -n 1)
	"$bin/resp-bench" -p "$port" --op MSET "${common[@]}" --runtime 0 >"$work/load.log" || { cat "$work/load.log" >&2; exit 1; }
	"$bin/resp-bench" -p "$port" -s --op GET "${common[@]}" -t 1 -b "$depth" --runtime "$runtime" --verify |
		awk '/^\[Throughput\]/ { gsub(",", "", $2); rate = $2 } END { print rate }'
	stop_server
	rm -rf -- "$work/server"
}

# rung NAME prints one line: the rate, and its share of the rate above.
above=
rung() {
	local rate
	rate=$(median "${@:2}")
	printf '%-12s %12.0f %8s\n' "$1" "$rate" "$([[ -z $above ]] || ratio "$rate" "$above")"
	above=$rate
}

echo "$keys records of 16 + $value bytes, $depth reads in flight, $rounds rounds of $runtime s, medians, reads/s and the share of the line above"
fio=() device=() kv=() resp=()
for ((round = 0; round < rounds; round++)); do
	device+=("$(first_number run_device "$work/file" 512 "$depth" 1 "$runtime" --file-size "$file_bytes" --device-io-backend "$backend")")
	warm "$work/file.0"
	fio+=("$(first_number run_fio "$work/file.0" "$engine" 512 "$depth" 1 "$runtime")")
	kv+=("$(first_number run_kv --device "${backend,,}")")
	resp+=("$(first_number run_resp --device-type Native --device-io-backend "$backend")")
done
rung "fio $engine" "${fio[@]}"
rung device "${device[@]}"
rung kv "${kv[@]}"
rung resp "${resp[@]}"

above=
device=() kv=() resp=()
for ((round = 0; round < rounds; round++)); do
	device+=("$(first_number run_device "$work/memory" 512 "$depth" 1 "$runtime" --file-size "$file_bytes" --device-type LocalMemory --device-inline-completion)")
	kv+=("$(first_number run_kv --device localmemory --device-inline-completion)")
	resp+=("$(first_number run_resp --device-type LocalMemory)")
done
echo "LocalMemory"
rung device "${device[@]}"
rung kv "${kv[@]}"
rung resp "${resp[@]}"
