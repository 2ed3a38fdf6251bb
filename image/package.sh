# shellcheck shell=sh
# shellcheck disable=SC2154  # the folders come from build-image.sh
# With --packages no port is built, and linkladder, which is Python alone, is packed from this tree: an image never holds
# another linkladder than the one beside its build script.

# own_package REPO - replace linkladder's package in a repository and list the repository anew.
own_package() {
	repo=$1
	textual=$(find "$repo/All" -name 'py3*-textual-*.pkg' | sort | tail -n 1)
	[ -n "$textual" ] || {
		echo "the repository has no py3*-textual: linkladder's Python cannot be known"
		return 1
	}
	flavor=${textual##*/}
	flavor=${flavor%%-*}
	python=python3.${flavor#py3}
	stage=$work/own-package
	rm -rf "$stage"
	mkdir -p "$stage/root"
	own_files "$stage/root" "$python"
	own_manifest "$repo" "$stage/root" "$flavor" >"$stage/manifest"
	# A copy of before, under whatever version, would be the one installed.
	find "$repo/All" -name 'linkladder-[0-9]*.pkg' -delete
	pkg create -M "$stage/manifest" -r "$stage/root" -p "$stage/plist" -o "$repo/All"
	pkg repo "$repo"
}

# own_files ROOT PYTHON - what `pip install` would lay down, without pip.
own_files() {
	site=$1/usr/local/lib/$2/site-packages
	mkdir -p "$site/linkladder-$version.dist-info" "$1/usr/local/bin"
	cp -Rp "$top/tui/src/linkladder" "$site/"
	find "$site" -name __pycache__ -prune -exec rm -rf {} +
	printf 'Metadata-Version: 2.1\nName: linkladder\nVersion: %s\nLicense: BSD-2-Clause\n' "$version" \
		>"$site/linkladder-$version.dist-info/METADATA"
	# pyproject.toml's [project.scripts], each a program.
	sed -n '/^\[project.scripts\]/,/^$/s/^\([a-z-]*\) = "\(.*\):\(.*\)"$/\1 \2 \3/p' "$top/tui/pyproject.toml" |
		while read -r program module function; do
			printf '#!/usr/local/bin/%s\nimport sys\n\nfrom %s import %s\n\nsys.exit(%s())\n' \
				"$2" "$module" "$function" "$function" >"$1/usr/local/bin/$program"
			chmod 755 "$1/usr/local/bin/$program"
		done
	# Not the modes of whoever checked the tree out: each user of the appliance reads it, and only root writes.
	chmod -R u=rwX,go=rX "$1"
	(cd "$1" && find . -type f -o -type l) | sed 's|^\.||' | sort >"$1.files"
	{
		echo '@owner root'
		echo '@group wheel'
		cat "$1.files"
	} >"${1%/root}/plist"
}

# own_manifest REPO ROOT FLAVOR - the manifest, with the versions of what it needs as the repository has them.
own_manifest() {
	cat <<-MANIFEST
		name: linkladder
		version: "$version"
		origin: net-mgmt/linkladder
		comment: "Qualify a network link, rung by rung"
		desc: "Arranges iperf and netperf at both ends of a link, judges honestly, leaves a report."
		maintainer: linkladder@example.org
		www: "https://example.org/linkladder"
		prefix: /usr/local
		licenselogic: single
		licenses: [ BSD2CLAUSE ]
		categories: [ net-mgmt ]
		deps: {
	MANIFEST
	for need in "$3-textual textproc/py-textual" "$3-psutil sysutils/py-psutil" "$3-Jinja2 devel/py-Jinja2" \
		"$3-sqlite3 databases/py-sqlite3" "iperf benchmarks/iperf" "netperf benchmarks/netperf"; do
		name=${need% *}
		file=$(find "$1/All" -iname "$name-[0-9]*.pkg" | sort | tail -n 1)
		[ -n "$file" ] || continue
		file=${file##*/}
		name=${file%-*}
		file=${file##*-}
		printf '  %s: { origin: "%s", version: "%s" }\n' "$name" "${need#* }" "${file%.pkg}"
	done
	echo '}'
}
