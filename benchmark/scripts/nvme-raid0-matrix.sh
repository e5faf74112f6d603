#!/usr/bin/env bash
# Disk-bound GETs of a whole server: for each backend, pinned to NUMA nodes or not, and each thread count the
# median of PASSES, as a table. The server keeps 16 MB of the data in memory, so that nearly every GET is a
# read of the device; before anything is measured the load is checked, since a key that was never written is
# answered from memory at thirty times the speed.
#
# Environment: GS=bin/pyrope-server; RB=bin/resp-bench; DATA=/raid/pyrope-nvme-matrix, emptied for each
# configuration; PORT=6379; DBSIZE=100000000 keys of KEYLEN=16 bytes with values of VALLEN=96; REQB=1024 GETs a
# batch; RUNTIME=12 seconds a pass; THREADS="8 32 48 64"; PASSES=3; BACKENDS="Libaio Uring"; PINMODES="pin nopin";
# SRVNODE=0 and CLINODE=1, the NUMA nodes of server and client; CT, THROTTLE and URING_IOCTX, the device's
# completion threads, throttle limit and (Uring) rings where the defaults are not wanted; INDEX=8g;
# OUT=/tmp/nvme-raid0-matrix.tsv and a table of the same name with .md; SRV_LOG and LOAD_LOG, outputs of the
# server and the load; DRY_RUN=1 prints the commands and runs none.

set -euo pipefail

GS=${GS:-bin/pyrope-server} RB=${RB:-bin/resp-bench}
DATA=${DATA:-/raid/pyrope-nvme-matrix} PORT=${PORT:-6379}
DBSIZE=${DBSIZE:-100000000} KEYLEN=${KEYLEN:-16} VALLEN=${VALLEN:-96} REQB=${REQB:-1024} RUNTIME=${RUNTIME:-12}
THREADS=${THREADS:-8 32 48 64} PASSES=${PASSES:-3} BACKENDS=${BACKENDS:-Libaio Uring} PINMODES=${PINMODES:-pin nopin}
SRVNODE=${SRVNODE:-0} CLINODE=${CLINODE:-1} CT=${CT:-} THROTTLE=${THROTTLE:-} URING_IOCTX=${URING_IOCTX:-} INDEX=${INDEX:-8g}
OUT=${OUT:-/tmp/nvme-raid0-matrix.tsv} SRV_LOG=${SRV_LOG:-/tmp/nvme-raid0-matrix.server.log} LOAD_LOG=${LOAD_LOG:-/tmp/nvme-raid0-matrix.load.log}
TABLE=${OUT%.tsv}.md
DRY_RUN=${DRY_RUN:-}
server_pid=

fail() { echo "!! $1" >&2; exit 1; }

# check_environment ends the script where it could not work, or would remove what is not its own.
check_environment() {
	local value
	for value in "$DBSIZE" "$KEYLEN" "$VALLEN" "$REQB" "$RUNTIME" "$PASSES" "$PORT" $THREADS; do
		[[ $value =~ ^[1-9][0-9]*$ ]] || fail "'$value' is no number of at least 1 (DBSIZE, KEYLEN, VALLEN, REQB, RUNTIME, PASSES, PORT, THREADS)"
	done
	for value in $BACKENDS; do
		[[ $value == Libaio || $value == Uring ]] || fail "BACKENDS has '$value'; it may have Libaio and Uring"
	done
	for value in $PINMODES; do
		[[ $value == pin || $value == nopin ]] || fail "PINMODES has '$value'; it may have pin and nopin"
	done
	[[ $DATA == /* && $DATA != / ]] || fail "DATA is '$DATA'; it must be an absolute path, of a directory that is emptied"
	[[ -z $DRY_RUN ]] || return 0
	[[ -x $GS && -x $RB ]] || fail "GS ($GS) and RB ($RB) must be programs; 'make build' makes them"
	[[ " $PINMODES " != *" pin "* ]] || command -v numactl >/dev/null || fail "numactl is not installed; PINMODES=nopin does without it"
	[[ ! -d $DATA || -z $(ls -A "$DATA") || -e $DATA/hlog.0 ]] || fail "DATA is $DATA, which holds other files; it is emptied, so give a directory of its own"
}

# on NODE COMMAND... runs a command on a NUMA node, where the present mode pins.
on() {
	local node=$1
	shift
	if [[ $pin == pin ]]; then
		set -- numactl "--cpunodebind=$node" "--membind=$node" "$@"
	fi
	if [[ -n $DRY_RUN ]]; then
		echo "$*"
		return 0
	fi
	exec "$@"
}

stop_server() {
	[[ -n $server_pid ]] || return 0
	kill "$server_pid" 2>/dev/null || true
	for ((i = 0; i < 300; i++)); do
		kill -0 "$server_pid" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$server_pid" 2>/dev/null || true
	wait "$server_pid" 2>/dev/null || true
	server_pid=
}

# answers says whether the server takes connections and answers.
answers() {
	local line
	exec 3<>"/dev/tcp/127.0.0.1/$PORT" || return 1
	printf 'PING\r\n' >&3
	read -r -t 2 line <&3 && [[ $line == +PONG* ]]
} 2>/dev/null

start_server() {
	local backend=$1 options=()
	[[ -z $CT ]] || options+=(--device-completion-threads "$CT")
	[[ -z $THROTTLE ]] || options+=(--device-throttle-limit "$THROTTLE")
	[[ -z $URING_IOCTX || $backend != Uring ]] || options+=(--device-io-contexts "$URING_IOCTX")
	set -- "$GS" --port "$PORT" --bind 127.0.0.1 --memory 16m --page 4m --segment 1g --index "$INDEX" --storage-tier \
		--logdir "$DATA" --device-type Native --device-io-backend "$backend" --logger-level Warning "${options[@]}"
	if [[ -n $DRY_RUN ]]; then
		on "$SRVNODE" "$@"
		return
	fi
	rm -rf -- "$DATA"
	mkdir -p "$DATA"
	(on "$SRVNODE" "$@") >"$SRV_LOG" 2>&1 &
	server_pid=$!
	for ((i = 0; i < 600; i++)); do
		if (answers); then return 0; fi
		kill -0 "$server_pid" 2>/dev/null || break
		sleep 0.1
	done
	fail "server failed to start: see $SRV_LOG"
}

client() { on "$CLINODE" "$RB" -p "$PORT" --dbsize "$DBSIZE" --keylength "$KEYLEN" --valuelength "$VALLEN" --client LightClient "$@"; }

# load writes the keys and checks how many the loader says it has written.
load() {
	if [[ -n $DRY_RUN ]]; then
		client --op MSET --load-threads 32 -b 4096 --runtime 0
		return
	fi
	(client --op MSET --load-threads 32 -b 4096 --runtime 0) >"$LOAD_LOG" 2>&1 || fail "dataset load failed: see $LOAD_LOG"
	local ops
	ops=$(awk '/^\[Total time\]/ { n = $(NF - 1); gsub(",", "", n); print int(n); exit }' "$LOAD_LOG")
	((${ops:-0} >= DBSIZE / 100 * 99)) || fail "dataset load short: ${ops:-0} of $DBSIZE keys, see $LOAD_LOG"
}

# measure THREADS prints the median rate of the passes.
measure() {
	local threads=$1 rate rates=()
	for ((i = 0; i < PASSES; i++)); do
		if [[ -n $DRY_RUN ]]; then
			client -s --op GET -t "$threads" -b "$REQB" --runtime "$RUNTIME" >&2
			rates+=(0)
			continue
		fi
		rate=$( (client -s --op GET -t "$threads" -b "$REQB" --runtime "$RUNTIME") 2>>"$LOAD_LOG" |
			awk '/^\[Throughput\]/ { gsub(",", "", $2); print $2; exit }') || true
		[[ -n $rate ]] || fail "a run with $threads threads gave no figure: see $LOAD_LOG and $SRV_LOG"
		rates+=("$rate")
	done
	printf '%s\n' "${rates[@]}" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

check_environment
trap stop_server EXIT
trap 'exit 130' INT TERM
[[ -n $DRY_RUN ]] || printf 'backend\tpin\tthreads\tops_per_sec\n' >"$OUT"
header="| backend | NUMA |" line="|---|---|" rows=
for threads in $THREADS; do
	header+=" t$threads |" line+="---|"
done
for backend in $BACKENDS; do
	for pin in $PINMODES; do
		start_server "$backend"
		load
		numa="no pin"
		[[ $pin == nopin ]] || numa="srv node-$SRVNODE / cli node-$CLINODE"
		row="| $backend | $numa |"
		for threads in $THREADS; do
			rate=$(measure "$threads")
			[[ -n $DRY_RUN ]] || printf '%s\t%s\t%s\t%s\n' "$backend" "$pin" "$threads" "$rate" | tee -a "$OUT"
			row+=" $(awk -v r="$rate" 'BEGIN { printf "%.2f M", r / 1e6 }') |"
		done
		rows+="$row"$'\n'
		stop_server
	done
done
[[ -n $DRY_RUN ]] || rm -rf -- "$DATA"
if [[ -z $DRY_RUN ]]; then
	printf '%s\n%s\n%s' "$header" "$line" "$rows" | tee "$TABLE"
fi
