#!/bin/sh
# build-image.sh image|fetch|pin [options] - the appliance, by poudriere on FreeBSD or in a FreeBSD builder VM on Linux.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")
# shellcheck source=image/lib.sh
. "$here/lib.sh"
# shellcheck source=image/inputs.sh
. "$here/inputs.sh"
# shellcheck source=image/stages.sh
. "$here/stages.sh"
# shellcheck source=image/package.sh
. "$here/package.sh"
# shellcheck source=image/trees.sh
. "$here/trees.sh"
# shellcheck source=image/fetch.sh
. "$here/fetch.sh"

usage() {
	cat <<-'TEXT'
		./build.sh image [options]      build the artifacts into out/
		./build.sh fetch DIR            put all that a build needs into DIR
		./build.sh pin [ports|source]   hold later builds to the newest commits of the ports and of FreeBSD's source

		  --stage NAME        run this stage alone: jail kernel ports bulk image pack (repeatable)
		  --again NAME        forget that this stage and those behind it were done, then build
		  --as-released       FreeBSD's sets as they were published: soon there, without the security patches since
		  --source FILE       a packed source of FreeBSD instead of the pinned one
		  --sets DIR          distribution sets instead of the source: MANIFEST, base.txz, kernel.txz, and
		                      kernel-LINKLADDER.txz or src.txz
		  --packages REPO     a package repository instead of ports and bulk (linkladder itself comes from this tree)
		  --ports DIR         a ports tree instead of the pinned one
		  --unpinned          take the branches as they are today and pin nothing; the image says so
		  --commit ID         (pin ports|source) this commit rather than the newest; --ports FILE, --source FILE: that
		                      of a packed tree
		  --offline DIR       take everything from a folder that `fetch` filled; nothing is downloaded
		  --builder IMAGE     (Linux) the FreeBSD virtual machine to build in, qcow2 or raw
		  --stand-in TEXT     record that an input is not the official one (repeatable)
		  --out DIR           where the artifacts go (default: out)
		  --work DIR          where the build happens (default: .work/image)
		  --check             look at the inputs and stop

		Release, source, ports tree and architecture are pinned in poudriere.conf; LL_RELEASE=14.5-RELEASE and the
		like override them.  The first build or fetch pins the trees that it finds; later ones take no others.
		LINKLADDER_SIGNING_KEY names the ssh key that signs upgrades and sums; without it a development key is
		made here.
	TEXT
}

verb=${1-image}
[ $# -eq 0 ] || shift
only='' again='' sets='' packages='' ports='' source='' released=no which='' offline='' builder='' standins='' check=no inside=no unpinned=no commit=''
out=$top/out work=$top/.work/image folder=''

# argument COUNT OPTION - an option that wants a value got one.
argument() {
	[ "$1" -ge 2 ] || die "$2 wants a value; --help lists the options"
}

while [ $# -gt 0 ]; do
	case $1 in
	-h | --help) usage && exit 0 ;;
	--check) check=yes && shift && continue ;;
	--unpinned) unpinned=yes && shift && continue ;;
	--as-released) released=yes && shift && continue ;;
	--inside) inside=yes && shift && continue ;; # from builder.sh: what is packed is packed outside
	--stage | --again | --sets | --packages | --ports | --source | --offline | --builder | --stand-in | --out | --work | --commit)
		argument $# "$1"
		case $1 in
		--stage) only="$only $2" ;;
		--again) again="$again $2" ;;
		--sets) sets=$(absolute "$2") ;;
		--packages) packages=$(absolute "$2") ;;
		--ports) ports=$(absolute "$2") ;;
		--source) source=$(absolute "$2") ;;
		--offline) offline=$(absolute "$2") ;;
		--builder) builder=$(absolute "$2") ;;
		--stand-in) standins="$standins$2
" ;;
		--commit) commit=$2 ;;
		--out) out=$(absolute "$2") ;;
		--work) work=$(absolute "$2") ;;
		esac
		shift 2
		;;
	-*) die "there is no option $1; --help lists them" ;;
	*)
		case $verb:$1 in
		pin:ports | pin:source) which=$1 ;;
		fetch:*)
			[ -z "$folder" ] || die "what is $1? --help lists the options"
			folder=$(absolute "$1")
			;;
		*) die "what is $1? --help lists the options" ;;
		esac
		shift
		;;
	esac
done

case $verb in
image | fetch | pin) ;;
*) die "there is no command $verb; --help lists them" ;;
esac

LL_WORK=$work
export LL_WORK
# shellcheck source=poudriere.conf
. "$top/poudriere.conf"
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$top/tui/src/linkladder/__init__.py")
[ -n "$version" ] || die "tui/src/linkladder/__init__.py names no version"

if [ "$verb" = fetch ]; then
	[ -n "$folder" ] || die "fetch wants a folder: ./build.sh fetch DIR"
	fetch_all "$folder"
	exit 0
fi

if [ "$verb" = pin ]; then
	case $commit in
	*[!0-9a-f]*) die "$commit is no commit: it is its 40 hexadecimal digits" ;;
	esac
	only=' pin' # no stage
	need_programs "$(downloader) python3:python3"
	stop_at_faults 'nothing was pinned'
	[ -z "$ports" ] || which=ports
	[ -z "$source" ] || which=source
	[ -n "$which" ] || [ -z "$commit" ] || die "--commit is of one tree: ./build.sh pin ports|source --commit ID"
	for one in ${which:-source ports}; do
		case $one in
		ports) move_pin ports "$ports" ;;
		source) move_pin source "$source" ;;
		esac
	done
	exit 0
fi
[ -z "$commit" ] || die "--commit goes with pin: ./build.sh pin ports|source --commit ID"

use_offline
check_stage_names
check_inputs
[ "$check" = no ] || exit 0
mkdir -p "$work"
make_signers
get_inputs
[ "$inside" = yes ] || origins >"$work/origins"

if wants_builder; then
	# shellcheck source=image/builder.sh
	. "$here/builder.sh"
	build_in_vm
else
	run_stages
fi
