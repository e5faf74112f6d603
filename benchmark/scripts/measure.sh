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

# free_port prints a TCP port that nobody listens on.
free_port() {
	local port
	while port=$((20000 + RANDOM % 12000)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

# answers PORT says whether a server there answers PING with PONG.
answers() {
	local line
	exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
	printf 'PING\r\n' >&3
	read -r -t 2 line <&3 && [[ $line == +PONG* ]]
} 2>/dev/null

# start NAME OPTION... starts redis-server or pyrope-server on a free port, and waits until it answers. It sets $server_pid, $port,
# and $start_ms, how long that took. All its files are in $work/NAME, which stays as it is.
start() {
	local name=$1 began program=("$bin/pyrope-server")
	shift
	port=$(free_port)
	mkdir -p "$work/$name"
	if [[ $name == redis ]]; then
		program=(redis-server --save '' --dir "$work/$name")
	fi
	began=$(date +%s%N)
	"${program[@]}" --port "$port" "$@" >"$work/$name.log" 2>&1 &
	server_pid=$!
	until (answers "$port"); do
		kill -0 "$server_pid" 2>/dev/null || { cat "$work/$name.log" >&2; echo "cannot measure: $name did not start" >&2; exit 1; }
		(($(date +%s%N) - began < 600000000000)) || { echo "cannot measure: $name does not answer" >&2; exit 1; }
		sleep 0.002
	done
	start_ms=$((($(date +%s%N) - began) / 1000000))
}

# ask COMMAND... asks the server that is running.
ask() { redis-cli -p "$port" "$@"; }

# field SECTION NAME prints a line of INFO.
field() { ask info "$1" | tr -d '\r' | sed -n "s/^$2://p"; }

# resident prints the resident bytes of the server.
resident() { awk '/^VmRSS/ { print $2 * 1024 }' "/proc/$server_pid/status"; }

# sample prints the time in seconds, the commands carried out, and the CPU seconds of the server, up to now.
sample() {
	local commands
	commands=$(field stats total_commands_processed)
	echo "$(date +%s.%N) $commands $(awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$server_pid/stat")"
}

# cost BEFORE AFTER prints operations a second and CPU microseconds an operation between two samples.
cost() { awk -v a="$1" -v b="$2" 'BEGIN { split(a, x); split(b, y); n = y[2] - x[2]; if (n > 1) print n / (y[1] - x[1]), (y[3] - x[3]) / n * 1e6 }'; }

# load_for SECONDS OPTION... lets pyrope-benchmark load the server and prints the cost of the middle of it.
load_for() {
	local seconds=$1 load before after
	shift
	"$bin/pyrope-benchmark" -p "$port" -n 1000000000000 -q "$@" >"$work/load.log" 2>&1 &
	load=$!
	sleep 0.5
	before=$(sample)
	sleep "$seconds"
	after=$(sample)
	kill -0 "$load" 2>/dev/null || { cat "$work/load.log" >&2; echo "cannot measure: the load ended early" >&2; exit 1; }
	kill "$load"
	wait "$load" 2>/dev/null || true
	cost "$before" "$after"
}

# fill KEYS SIZE writes that many keys, key:000000000000 and so on, and counts them.
fill() {
	"$bin/pyrope-benchmark" -p "$port" -t set -n "$1" -r "$1" -d "$2" -c 4 -P 64 --sequential -q >"$work/load.log" 2>&1 || { cat "$work/load.log" >&2; exit 1; }
	local held
	held=$(ask dbsize)
	((held >= $1)) || { echo "cannot measure: the server holds $held keys of $1" >&2; exit 1; }
}

# note NAME VALUE... keeps figures of a round; middle NAME is their median.
declare -A noted
note() { noted[$1]+=" ${*:2}"; }
middle() { median ${noted[$1]}; }
