# What bench-devices.sh and ladder.sh share: they source this file. Everything that a script writes goes
# into $work, a fresh directory below $DATA, which is removed when the script ends, however it ends.

set -euo pipefail

bin=${BIN:-bin}
server_pid=

# need TOOL... ends the script if one of them is not installed.
need() {
	local tool
	for tool in "$@"; do
		command -v "$tool" >/dev/null || { echo "cannot measure: '$tool' is not installed or not built" >&2; exit 1; }
	done
}

# make_work makes $work on the disk to measure.
make_work() {
	local data=${DATA:-/var/tmp}
	[[ -d $data ]] || { echo "DATA is $data; it must be a directory on the disk to measure" >&2; exit 1; }
	work=$(mktemp -d "$data/pyrope-bench.XXXXXX")
	trap clean_up EXIT
	trap 'exit 130' INT TERM
}

clean_up() {
	stop_server
	rm -rf -- "$work"
}

stop_server() {
	[[ -n $server_pid ]] || return 0
	kill "$server_pid" 2>/dev/null || true
	wait "$server_pid" 2>/dev/null || true
	server_pid=
}

# median N... is the middle one of the numbers.
median() { printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# ratio A B is A over B.
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }'; }

# first_number COMMAND... is the first number that the command prints; to print none is to have failed.
first_number() {
	local number=
	read -r number _ < <("$@") || true
	[[ -n $number ]] || { echo "cannot measure: $1 gave no figure" >&2; exit 1; }
	echo "$number"
}

# warm FILE reads the file once from end to end past the page cache: a disk may keep a cache of its own.
warm() { dd if="$1" of=/dev/null bs=4M iflag=direct status=none; }

# run_fio FILE ENGINE BLOCK DEPTH JOBS SECONDS prints IOPS and CPU microseconds a read. psync goes through
# the page cache, as the file device does.
run_fio() {
	local cache=(--direct=1)
	[[ $2 != psync ]] || cache=(--direct=0 --invalidate=0)
	fio --name=read --filename="$1" --readonly --rw=randread --ioengine="$2" --bs="$3" --iodepth="$4" --numjobs="$5" \
		--runtime="$6" --time_based "${cache[@]}" --norandommap --randrepeat=0 --group_reporting \
		--output-format=terse --terse-version=3 |
		awk -F';' -v jobs="$5" '/^3;/ { sub("%", "", $88); sub("%", "", $89); print $8, ($88 + $89) / 100 * jobs / $8 * 1e6 }'
}

# run_device FILE BLOCK DEPTH THREADS SECONDS OPTION... prints the same of device-bench, which fills and warms FILE.0.
run_device() {
	local file=$1 block=$2 depth=$3 threads=$4 seconds=$5
	shift 5
	"$bin/device-bench" --file-name "$file" --segment-size 1t --sector-size "$block" -t "$threads" -b "$depth" --runtime "$seconds" \
		--warm --keep "$@" |
		awk '/throughput:/ { for (i = 1; i < NF; i++) if ($i == "throughput:") rate = $(i + 1) } /CPU a read:/ { print rate, $4 }'
}
