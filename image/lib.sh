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

# accelerator [CORES] - KVM only if a machine really starts with it: a container may show a device that does not work.
# CORES are those of all machines together: with fewer here, one emulated core would wait for what another holds that is
# not running, so that each machine takes its cores in turn.
accelerator() {
	if [ -w /dev/kvm ] && (printf 'quit\n' | timeout 10 qemu-system-x86_64 -accel kvm -cpu host -display none -nodefaults \
		-monitor stdio) >/dev/null 2>&1; then
		echo 'kvm -cpu host'
	elif [ "$(nproc)" -lt "${1:-1}" ]; then
		echo 'tcg,thread=single -cpu qemu64,+rdrand'
	else
		echo 'tcg,thread=multi -cpu qemu64,+rdrand'
	fi
}

# download URL FILE - whole or not at all; an interrupted one goes on where it stopped.
download() {
	[ ! -s "$2" ] || return 0
	say "  $1"
	if command -v fetch >/dev/null 2>&1; then
		fetch -q -r -o "$2.part" "$1" || die "$1 could not be downloaded"
	else
		status=0
		curl -fsSL -C - -o "$2.part" "$1" || status=$?
		if [ "$status" -eq 33 ]; then # the server cannot go on where it stopped: from the beginning
			rm -f "$2.part"
			status=0
			curl -fsSL -o "$2.part" "$1" || status=$?
		fi
		[ "$status" -eq 0 ] || die "$1 could not be downloaded"
	fi
	mv "$2.part" "$2"
}

# The line by which the image will know who signs its upgrades; in the builder it was carried in.
make_signers() {
	[ "$inside" = no ] || return 0
	python3 "$here/upgrade.py" signers "${LINKLADDER_SIGNING_KEY:-$work}" >"$work/upgrade_signers.new" ||
		die "there is no key to sign upgrades with; LINKLADDER_SIGNING_KEY names one that ssh-keygen made"
	mv "$work/upgrade_signers.new" "$work/upgrade_signers"
}

# run_stage NAME FUNCTION - once; with its log, its time, and on failure the log's last lines.  What really ran and when is
# kept for the build record, also for a stage that need not be run again.
run_stage() {
	name=$1
	mark=$work/done/$name
	log=$work/log/$name.log
	mkdir -p "$work/done" "$work/log" "$work/ran"
	# Taken before: what changes while the stage runs has not gone into it.
	print=$(fingerprint "$name")
	if [ -e "$mark" ] && [ "$(cat "$mark")" = "$print" ]; then
		say "$name: done before"
		return 0
	fi
	rm -f "$mark" "$work/ran/$name" "$work/outcome"
	started=$(date +%s)
	say "$name: started; the log is $log"
	# The stage runs in the background so that elapsed time and its last line can be shown meanwhile.
	("$2") >"$log" 2>&1 </dev/null &
	job=$!
	trap 'end_job "$job"; exit 130' INT TERM HUP
	watch_job "$job" "$started"
	status=0
	wait "$job" || status=$?
	trap - INT TERM HUP
	took=$(($(date +%s) - started))
	if [ "$status" -ne 0 ]; then
		say "$name: FAILED after $(duration "$took"); the last lines of $log:"
		tail -n 20 "$log" >&2
		exit 1
	fi
	printf '%s\n' "$print" >"$mark"
	outcome=run
	[ ! -s "$work/outcome" ] || outcome=$(cat "$work/outcome")
	printf '%s\t%s\t%s\t%s\n' "$name" "$took" "$outcome" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$work/ran/$name"
	say "$name: good, $(duration "$took")"
}

# end_job PID - a stage and all that it started.  What runs in the background never hears of Ctrl-C, so each is told by
# itself; poudriere takes its jails and mounts down then, and is given a minute for it.
end_job() {
	trap - INT TERM HUP
	say "$name: interrupted; waiting for what it started to end"
	family=$(family_of "$1")
	tell TERM "$family"
	for _ in $(seq 60); do
		left=$(living "$family")
		[ -n "$left" ] || return 0
		sleep 1
	done
	tell KILL "$left"
}

# tell SIGNAL PIDS - one may have ended meanwhile.
tell() {
	for pid in $2; do
		kill -s "$1" "$pid" 2>/dev/null || true
	done
}

# family_of PID - it and all that come from it, parents first: they are to hear of the end before their children fail.
family_of() {
	ps -A -o pid= -o ppid= | awk -v first="$1" '
		{ parent[$1] = $2 }
		END {
			for (pid in parent) {
				depth = 0
				for (up = pid; up != first && up + 0 > 1 && (up in parent); up = parent[up]) depth++
				if (up == first) print depth, pid
			}
		}' | sort -n | cut -d ' ' -f 2
}

# living PIDS - those that still run; one that only waits to be asked for its status does not.
living() {
	ps -A -o pid= -o stat= | awk -v pids="$(echo "$1" | tr '\n' ' ')" '
		BEGIN { split(pids, list, " "); for (i in list) asked[list[i]] = 1 }
		$1 in asked && $2 !~ /^Z/ { print $1 }'
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
