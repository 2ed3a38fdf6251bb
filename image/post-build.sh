# Sourced by `poudriere image -A` when the root file system is complete, before it becomes a disk.
# poudriere sets WORLDDIR (the root), MEDIATYPE and IMAGENAME.  No shebang: it is not run by itself.
# shellcheck shell=sh disable=SC2154

ll_world=${WORLDDIR:?}
# poudriere passes nothing of the caller's environment on; its own configuration names the folder of this build.
ll_work=${LL_WORK:?}
ll_kernel=$ll_work/kernel/boot/kernel
ll_set=$ll_work/linkladder.tzst
ll_packages=$ll_work/packages.tsv
ll_port=28640 # of the builder's loopback, for a moment

# The overlay was copied with the builder's owners.
ll_owners() {
	for ll_path in boot/loader.conf boot/lua/local.lua etc usr/local/etc usr/local/libexec usr/local/share/linkladder \
		var/at var/cron; do
		chown -R 0:0 "$ll_world/$ll_path"
	done
	chmod 0600 "$ll_world/usr/local/etc/doas.conf"
	chmod 0644 "$ll_world/etc/rc.conf" "$ll_world/etc/sysctl.conf" "$ll_world/etc/ttys" "$ll_world/boot/loader.conf"
	chmod 0600 "$ll_world/etc/master.passwd" "$ll_world/etc/spwd.db"
}

# linkladder runs the consoles and keeps the state; llmeasure runs the agent and the tools, and owns nothing; admin is the
# operator who may come by ssh once that is switched on.  None of them is in wheel.
ll_users() {
	pw -R "$ll_world" usershow linkladder >/dev/null 2>&1 ||
		pw -R "$ll_world" useradd linkladder -u 862 -c linkladder -d /var/db/linkladder -s /usr/local/libexec/linkladder-console -h -
	pw -R "$ll_world" groupmod dialer -m linkladder 2>/dev/null || true
	pw -R "$ll_world" usershow admin >/dev/null 2>&1 ||
		pw -R "$ll_world" useradd admin -u 863 -c operator -d /home/admin -m -s /bin/sh -h -
	pw -R "$ll_world" usershow llmeasure >/dev/null 2>&1 ||
		pw -R "$ll_world" useradd llmeasure -u 864 -c measuring -L llmeasure -d /var/empty -s /bin/sh -h -
}

# Root has no password, for the local consoles, so that nothing else may lead to him: of all programs that run as somebody
# other than who starts them two remain.  getty starts login as root, and root needs no other.
ll_setuid() {
	find "$ll_world" -xdev -type f \( -perm -4000 -o -perm -2000 \) | while read -r ll_path; do
		case ${ll_path#"$ll_world/"} in
		usr/local/bin/doas | sbin/ping | sbin/ping6) continue ;; # ping6 is ping by another name: one file, one mode
		esac
		chflags noschg "$ll_path" 2>/dev/null || true
		chmod ug-s "$ll_path"
	done
}

# What a broken tool could use up is bounded.  The text is read where there is no database of it.
ll_class() {
	grep -q '^llmeasure:' "$ll_world/etc/login.conf" 2>/dev/null || cat "$ll_world/etc/login.conf.ladder" >>"$ll_world/etc/login.conf"
	rm -f "$ll_world/etc/login.conf.ladder" "$ll_world/etc/login.conf.db"
}

# The state partition is mounted on /state; linkladder looks for its folder where every system has it.
ll_state() {
	mkdir -p "$ll_world/state" "$ll_world/media/usb" "$ll_world/var/db"
	rm -rf "$ll_world/var/db/linkladder" "$ll_world/var/db/linkladder-measure" "$ll_world/var/db/linkladder-trusted"
	ln -s /state/linkladder "$ll_world/var/db/linkladder"
	ln -s /state/measure "$ll_world/var/db/linkladder-measure"
	ln -s /state/trusted "$ll_world/var/db/linkladder-trusted"
}

# getty's own entries stay; ours are added once.
ll_console() {
	grep -q '^ladder.Pc' "$ll_world/etc/gettytab" || cat "$ll_world/etc/gettytab.ladder" >>"$ll_world/etc/gettytab"
	rm -f "$ll_world/etc/gettytab.ladder"
}

# Both folders of everybody are one, in memory and of a fixed size: nobody fills the system's disk.
ll_tmp() {
	rm -rf "$ll_world/var/tmp"
	ln -s /tmp "$ll_world/var/tmp"
}

# LINKLADDER's kernel is the default and GENERIC lies beside it, whichever of them the jail was made with.
ll_kernels() {
	mv "$ll_world/boot/kernel" "$ll_world/boot/kernel.GENERIC"
	cp -Rp "$ll_kernel" "$ll_world/boot/kernel"
	find "$ll_world/boot" -name '*.symbols' -delete
}

# The patch that closes netserver is missing where the port has changed, and in packages that others have built.
ll_netserver() {
	chroot "$ll_world" /usr/local/bin/netserver -D -N -4 -L 127.0.0.1 -p "$ll_port" >/dev/null 2>&1 &
	ll_server=$!
	ll_wrong=''
	# The same server that takes the one test must refuse the other; it listens after a moment.
	if ! { sleep 1 && ll_answers TCP_RR; } && ! { sleep 5 && ll_answers TCP_RR; }; then
		ll_wrong='netserver does not answer: it cannot be told whether it is the one that is closed to strangers'
	elif ll_answers UDP_RR; then
		ll_wrong='netserver is not built with ports/patches/netserver-closed.patch: it would read and send what its client says'
	fi
	kill "$ll_server" 2>/dev/null || true
	wait "$ll_server" 2>/dev/null || true
	[ -z "$ll_wrong" ] || {
		echo "$ll_wrong" >&2
		exit 1
	}
}

# ll_answers TEST - whether the netserver of the image takes this test.
ll_answers() {
	chroot "$ll_world" /usr/local/bin/netperf -H 127.0.0.1 -p "$ll_port" -l 1 -t "$1" >/dev/null 2>&1
}

# Nothing that makes two machines alike, and nothing of the machine that built it.
ll_clean() {
	rm -f "$ll_world"/etc/ssh/ssh_host_*key* "$ll_world/etc/hostid" "$ll_world/etc/machine-id" "$ll_world/etc/resolv.conf" \
		"$ll_world/boot/entropy" "$ll_world/entropy"
	rm -rf "$ll_world"/var/cache/pkg "$ll_world"/var/db/pkg/repos "$ll_world"/var/log/*.log "$ll_world"/usr/freebsd-dist
	find "$ll_world/usr/local" -type d -name __pycache__ -prune -exec rm -rf {} +
	# Python is started often and must not write beside its modules: compile them now, on all cores, and for good: a date
	# that a medium rounds must not make it compile again.  The second medium has the same modules as the first.
	if [ -s "$ll_set" ]; then
		tar -C "$ll_world" --include '*.pyc' -xpf "$ll_set"
	else
		chroot "$ll_world" /usr/local/bin/python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /usr/local/lib ||
			echo "some modules were not compiled"
	fi
	ln -sf /usr/share/zoneinfo/UTC "$ll_world/etc/localtime"
	rm -f "$ll_world/etc/wall_cmos_clock"
	# What ran in here without devices has made files of their names, which no installation could unpack.
	find "$ll_world/dev" "$ll_world/tmp" "$ll_world/var/tmp" -mindepth 1 -delete
}

# The live media carry the system a second time, packed, as bsdinstall's distribution set.  It is packed once a build:
# the first medium's serves the second.
ll_installer() {
	case $MEDIATYPE in
	usb | iso) ;;
	*) return 0 ;;
	esac
	[ -s "$ll_set" ] || {
		echo "packing the installation set"
		# bsdinstall writes files of its own in place of these two; linkladder-install puts them back.
		mkdir -p "$ll_world/usr/local/share/linkladder/system"
		cp -p "$ll_world/etc/rc.conf" "$ll_world/boot/loader.conf" "$ll_world/usr/local/share/linkladder/system/"
		tar -C "$ll_world" --zstd --options zstd:threads=0 -cf "$ll_set.new" .
		mv "$ll_set.new" "$ll_set"
	}
	mkdir -p "$ll_world/usr/freebsd-dist"
	cp "$ll_set" "$ll_world/usr/freebsd-dist/linkladder.tzst"
	printf 'linkladder.tzst\t%s\t%s\tlinkladder\t"The appliance"\ton\n' "$(sha256 -q "$ll_set")" \
		"$(tar -tf "$ll_set" | wc -l | tr -d ' ')" >"$ll_world/usr/freebsd-dist/MANIFEST"
	# An ISO's root stays read-only.
	[ "$MEDIATYPE" != iso ] || echo 'root_rw_mount="NO"' >>"$ll_world/etc/rc.conf"
}

# Of the disk's two places for a system the firmware is to start the marked one: gptboot.efi does, as gptboot does under
# BIOS, and runs that system's own loader.efi.  poudriere gives its own function the loader alone.
ll_firmware() {
	[ "$MEDIATYPE" = usb ] || return 0
	make_esp_file() {
		ll_stage=$(mktemp -d /tmp/esp.XXXXXX)
		mkdir -p "$ll_stage/EFI/BOOT"
		cp "$ll_world/boot/gptboot.efi" "$ll_stage/EFI/BOOT/BOOTX64.efi"
		makefs -t msdos -o fat_type=16 -o sectors_per_cluster=1 -o volume_label=EFISYS -s "$2m" "$1" "$ll_stage"
		rm -rf "$ll_stage"
	}
}

# Name, version and licence of every package; and what its own manifest says it stands in for.
ll_manifest() {
	pkg -r "$ll_world" query '%n\t%v\t%L' |
		awk -F'\t' -v OFS='\t' '$3 == "" { $3 = "not stated by its port" } { print }' | sort >"$ll_packages"
	pkg -r "$ll_world" query '%At\tpackage %n-%v: %Av' | sed -n 's/^stand_in\t//p' | sort >"$ll_packages.stand-ins"
}

ll_users
ll_owners
ll_setuid
ll_class
ll_state
ll_console
ll_kernels
ll_netserver
ll_clean
ll_tmp
ll_manifest
ll_installer
ll_firmware
