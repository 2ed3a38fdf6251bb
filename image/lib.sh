# shellcheck shell=sh
# shellcheck disable=SC2154  # the folders come from build-image.sh
# Small helpers of the image build: sourced, never run.

die() {
	printf 'build.sh image: %s\n' "$*" >&2
	exit 3
}

say() {
	printf '%s\n' "$*" >&2
}

# absolute PATH - the path from the root; what it names need not be there yet.
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$(pwd)" "$1" ;;
	esac
}

sha256_of() {
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum "$1" | cut -d ' ' -f 1
	else
		sha256 -q "$1"
	fi
}

# duration SECONDS - 3:07 or 1:02:45
duration() {
	if [ "$1" -ge 3600 ]; then
		printf '%d:%02d:%02d\n' $(($1 / 3600)) $(($1 / 60 % 60)) $(($1 % 60))
	else
		printf '%d:%02d\n' $(($1 / 60)) $(($1 % 60))
	fi
}

# download URL FILE - whole or not at all; an interrupted one goes on where it stopped.
download() {
	[ ! -s "$2" ] || return 0
	say "  $1"
	if command -v fetch >/dev/null 2>&1; then
		fetch -q -r -o "$2.part" "$1" || die "$1 could not be downloaded"
	else
		curl -fsSL -C - -o "$2.part" "$1" || die "$1 could not be downloaded"
	fi
	mv "$2.part" "$2"
}

# run_stage NAME FUNCTION - once; with its log, its time, and on failure the log's last lines.  What really ran and when is
# kept for the build record, also for a stage that need not be run again.
run_stage() {
	name=$1
	mark=$work/done/$name
	log=$work/log/$name.log
	mkdir -p "$work/done" "$work/log" "$work/ran"
	if [ -e "$mark" ] && [ "$(cat "$mark")" = "$(fingerprint "$name")" ]; then
		say "$name: done before"
		return 0
	fi
	rm -f "$mark" "$work/ran/$name" "$work/outcome"
	started=$(date +%s)
	say "$name: started; the log is $log"
	# The stage runs in the background so that elapsed time and its last line can be shown meanwhile.
	("$2") >"$log" 2>&1 </dev/null &
	job=$!
	trap 'kill "$job" 2>/dev/null; exit 130' INT TERM
	watch_job "$job" "$started"
	status=0
	wait "$job" || status=$?
	trap - INT TERM
	took=$(($(date +%s) - started))
	if [ "$status" -ne 0 ]; then
		say "$name: FAILED after $(duration "$took"); the last lines of $log:"
		tail -n 20 "$log" >&2
		exit 1
	fi
	fingerprint "$name" >"$mark"
	outcome=run
	[ ! -s "$work/outcome" ] || outcome=$(cat "$work/outcome")
	printf '%s\t%s\t%s\t%s\n' "$name" "$took" "$outcome" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$work/ran/$name"
	say "$name: good, $(duration "$took")"
}

# outcome TEXT - what a stage did, where that is less than its name says.
outcome() {
	printf '%s\n' "$*" | tee "$work/outcome"
}

# watch_job PID STARTED - a line of progress on a terminal, one a minute elsewhere.
watch_job() {
	quiet=0
	while kill -0 "$1" 2>/dev/null; do
		sleep 1
		elapsed=$(($(date +%s) - $2))
		if [ -t 2 ]; then
			printf '\r\033[K  %s  %.60s' "$(duration "$elapsed")" "$(tail -n 1 "$log" 2>/dev/null | tr -cd '[:print:]')" >&2
		elif [ $((elapsed / 60)) -gt "$quiet" ]; then
			quiet=$((elapsed / 60))
			say "  $(duration "$elapsed")  $(tail -n 1 "$log" | cut -c 1-100)"
		fi
	done
	[ ! -t 2 ] || printf '\r\033[K' >&2
}
