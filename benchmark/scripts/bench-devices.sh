#!/usr/bin/env bash
# Random reads of one file by device-bench and by fio in turn, with the same block size, depth and engine:
# medians of ROUNDS rounds, and the ratio of both rates and of the CPU time a read.
#
# Environment: DATA=/var/tmp a directory on the disk to measure; SIZE=1g of the file; ROUNDS=3; RUNTIME=3
# seconds each; ENGINES="libaio io_uring psync"; BLOCKS="512 4096"; DEPTHS="64 256"; JOBS=8 of psync, which
# is compared with the file device and as many threads; BIN=bin where device-bench is.

source "$(dirname "$0")/measure.sh"
size=${SIZE:-1g} rounds=${ROUNDS:-3} runtime=${RUNTIME:-3} jobs=${JOBS:-8}
need fio dd awk "$bin/device-bench"
make_work

# device_options ENGINE says what makes device-bench use the interface that fio's engine uses.
device_options() {
	case $1 in
	libaio) echo --device-type Native --device-io-backend Libaio ;;
	io_uring) echo --device-type Native --device-io-backend Uring ;;
	psync) echo --device-type RandomAccess ;;
	*) echo "ENGINES has $1; it may have libaio, io_uring and psync" >&2; exit 1 ;;
	esac
}

no_figure() { echo "cannot measure: $1 gave no figure" >&2; exit 1; }

# compare ENGINE BLOCK DEPTH prints one line of the table.
compare() {
	local engine=$1 block=$2 depth=$3 fio_jobs=1 options round rate cpu
	local fio_rates=() fio_cpus=() device_rates=() device_cpus=()
	options=$(device_options "$engine")
	[[ $engine != psync ]] || fio_jobs=$jobs
	for ((round = 0; round < rounds; round++)); do
		read -r rate cpu < <(run_device "$work/file" "$block" "$depth" "$fio_jobs" "$runtime" --file-size "$size" $options) || no_figure device-bench
		device_rates+=("$rate") device_cpus+=("$cpu")
		warm "$work/file.0"
		read -r rate cpu < <(run_fio "$work/file.0" "$engine" "$block" "$depth" "$fio_jobs" "$runtime") || no_figure fio
		fio_rates+=("$rate") fio_cpus+=("$cpu")
	done
	local fio_rate device_rate fio_cpu device_cpu
	fio_rate=$(median "${fio_rates[@]}") device_rate=$(median "${device_rates[@]}")
	fio_cpu=$(median "${fio_cpus[@]}") device_cpu=$(median "${device_cpus[@]}")
	printf '%-9s %6d %6d %10.0f %10.0f %6s %8.2f %8.2f %6s\n' "$engine" "$block" "$depth" \
		"$fio_rate" "$device_rate" "$(ratio "$device_rate" "$fio_rate")" "$fio_cpu" "$device_cpu" "$(ratio "$device_cpu" "$fio_cpu")"
}

echo "file of $size in $work, $rounds rounds of $runtime s, medians; psync is $jobs jobs and the file device; CPU in microseconds a read"
printf '%-9s %6s %6s %10s %10s %6s %8s %8s %6s\n' engine block depth fio/s device/s ratio "fio CPU" "our CPU" ratio
for engine in ${ENGINES:-libaio io_uring psync}; do
	for block in ${BLOCKS:-512 4096}; do
		for depth in ${DEPTHS:-64 256}; do
			compare "$engine" "$block" "$depth"
		done
	done
done
