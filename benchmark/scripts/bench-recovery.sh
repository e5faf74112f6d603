#!/usr/bin/env bash
# How long a server takes to come back: KEYS keys of SIZE bytes are loaded into a server whose memory is a fraction of them and whose device is files
# (and a checkpoint is taken), or into redis-server (and an RDB file is written). Each is then started ROUNDS times: the time up to the first answer to
# PING and up to the first GET, whose value is compared, and the resident memory then. At the end every key of each is read and every byte of its value
# compared.
#
# Environment: DATA=/var/tmp a directory on the disk to measure; KEYS=2000000; SIZE=1000 (2 GB in all; KEYS=20000000 SIZE=96 is the like in small records);
# MEMORY=256m of pyrope-server; INDEX=, its index at the start, where the default is not wanted; DEVICE="--device-type RandomAccess"; ROUNDS=3;
# SERVERS="redis pyrope"; BIN=bin where the programs are.

source "$(dirname "$0")/measure.sh"
keys=${KEYS:-2000000} size=${SIZE:-1000} memory=${MEMORY:-256m} rounds=${ROUNDS:-3} servers=${SERVERS:-redis pyrope}
options=(--memory "$memory" --storage-tier)
# shellcheck disable=SC2206
options+=(${DEVICE:---device-type RandomAccess} ${INDEX:+--index $INDEX})
need awk redis-cli "$bin/pyrope-server" "$bin/resp-bench"
[[ " $servers " != *" redis "* ]] || need redis-server
make_work

# begin SERVER starts it over the files of its last run.
begin() {
	case $1 in
	redis) start redis --appendonly no ;;
	pyrope) start pyrope "${options[@]}" --logdir "$work/pyrope" --checkpointdir "$work/pyrope" ;;
	*) echo "SERVERS has '$1'; it may have redis and pyrope" >&2; exit 1 ;;
	esac
}

client() { "$bin/resp-bench" -p "$port" --op GET --dbsize "$keys" --keylength 16 --valuelength "$size" "$@" >"$work/client.log" || { cat "$work/client.log" >&2; exit 1; }; }

# save takes a checkpoint or an RDB file and prints how many seconds that took.
save() {
	local began
	began=$(date +%s%N)
	[[ $(ask save) == OK ]] || { echo "cannot measure: SAVE failed" >&2; exit 1; }
	awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { print ns / 1e9 }'
}

# await_data waits while the server answers that it is still loading.
await_data() { while [[ $(ask get "$key" | tr -d '\0') == *LOADING* ]]; do sleep 0.005; done; }

# The key whose value the first GET is compared with.
key=$(printf '%16d' $((keys / 2)) | tr ' ' X)

echo "$keys keys of 16 + $size bytes, $(awk -v b=$((keys * (16 + size))) 'BEGIN { printf "%.2f", b / 1e9 }') GB; pyrope-server ${options[*]}; $rounds rounds, medians"
for server in $servers; do
	begin "$server"
	client --runtime 0
	note "$server-save" "$(save)"
	ask --raw get "$key" >"$work/$server.value"
	stop_server
	du -s --block-size=1 "$work/$server" | awk '{ print $1 / 1048576 }' >"$work/$server.files"
done
for ((round = 0; round < rounds; round++)); do
	for server in $servers; do
		began=$(date +%s%N)
		begin "$server"
		note "$server-ping" "$start_ms"
		await_data
		ask --raw get "$key" | cmp -s - "$work/$server.value" || { echo "cannot measure: the first GET of $server is wrong" >&2; exit 1; }
		note "$server-get" $((($(date +%s%N) - began) / 1000000))
		note "$server-resident" "$(resident)"
		held=$(ask dbsize)
		((held == keys)) || { echo "cannot measure: $server holds $held keys of $keys" >&2; exit 1; }
		stop_server
	done
done
printf '%-8s %9s %9s %9s %9s %9s %11s %11s %12s\n' server 'save s' 'files MB' 'PING ms' 'GET ms' 'RSS MB' 'verified' 'verify s' 'RSS after MB'
for server in $servers; do
	begin "$server"
	await_data
	began=$(date +%s%N)
	client -s --verify --runtime 0 --totalops 1 -b 1 -t 1
	verified=$(sed -n 's/^\[Verified\]: \([0-9,]*\) values, 0 mismatches, 0 nil$/\1/p' "$work/client.log" | head -n 1)
	[[ ${verified//,/} == "$keys" ]] || { echo "cannot measure: of $keys keys of $server '$verified' were verified" >&2; exit 1; }
	printf '%-8s %9.2f %9.0f %9.0f %9.0f %9.0f %11s %11.1f %12.0f\n' "$server" "$(middle "$server-save")" "$(cat "$work/$server.files")" "$(middle "$server-ping")" "$(middle "$server-get")" \
		"$(awk -v b="$(middle "$server-resident")" 'BEGIN { print b / 1048576 }')" "$keys" "$(awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { print ns / 1e9 }')" \
		"$(awk -v b="$(resident)" 'BEGIN { print b / 1048576 }')"
	stop_server
done
if [[ $servers == "redis pyrope" ]]; then
	echo "Pyrope beside Redis: first PING $(ratio "$(middle pyrope-ping)" "$(middle redis-ping)"), first GET $(ratio "$(middle pyrope-get)" "$(middle redis-get)"), resident memory $(ratio "$(middle pyrope-resident)" "$(middle redis-resident)")"
fi
