# shellcheck shell=sh
# shellcheck disable=SC2154  # the settings come from build-image.sh and poudriere.conf
# The two trees that a build is held to: `ports`, and `source`, FreeBSD's own with the release's security patches.

# about TREE - in variables what the functions below go by: its words, variables' name, branch, pin, and where it comes from.
about() {
	case $1 in
	ports)
		words='ports tree' upper=PORTS branch=$LL_PORTS_BRANCH pin=$LL_PORTS_COMMIT files=$LL_PORTS_SHA256
		url=${LL_PORTS_URL:-$LL_PORTS_ARCHIVE/${pin:-refs/heads/$branch}}
		;;
	source)
		words='source of FreeBSD' upper=SOURCE branch=$LL_SOURCE_BRANCH pin=$LL_SOURCE_COMMIT files=$LL_SOURCE_SHA256
		url=${LL_SOURCE_URL:-$LL_SOURCE_ARCHIVE/${pin:-refs/heads/$branch}}
		;;
	esac
}

# identity TREE FILE - its commit and the digest of its files; fails, with a sentence, where it is not the pinned one.
identity() {
	about "$1"
	packed_tree "$1" "$2" "$pin" "$files"
}

# packed_tree TREE FILE COMMIT DIGEST - a hundred thousand files are not read through at each question.
packed_tree() {
	python3 "$here/packed_tree.py" --known "$work/$1.known" "$2" --name "$words" --commit "$3" --digest "$4"
}

# downloaded_identity TREE FILE - the same of what came from elsewhere, or the build ends.
downloaded_identity() {
	identity "$1" "$2" || die "the $words that came is not the one that was asked for; remove $2 and try again"
}

is_pinned() {
	about "$1"
	[ -n "$pin" ] && [ -n "$files" ]
}

# is_the_pinned TREE FILE - by what it holds.
is_the_pinned() {
	is_pinned "$1" && [ -f "$2" ] && identity "$1" "$2" >/dev/null 2>&1
}

# packed_name TREE - where it lies once it was downloaded.
packed_name() {
	about "$1"
	echo "$work/$1-$(echo "${pin:-$branch}" | tr / -).tar.gz"
}

# get_tree TREE FILE - the pinned commit of it, or its branch as it is, which is pinned by that.
get_tree() {
	about "$1"
	# Half of a branch's tree is not gone on with: the branch may have moved meanwhile.
	[ -n "$pin" ] || rm -f "$2.part"
	download "$url" "$2"
	hold "$1" "$2"
}

# hold TREE FILE - it is the pinned one, or the one that is pinned from now on: who builds twice gets the same twice.
hold() {
	told=$(downloaded_identity "$1" "$2") || exit 3
	! is_pinned "$1" || return 0
	if [ "$unpinned" = yes ]; then
		say "  the $words stays unpinned: commit ${told%% *}, files ${told##* }"
		return 0
	fi
	write_pin "$1" "${told%% *}" "${told##* }"
	say "  the $words was not pinned: poudriere.conf holds every later build to this one
    commit ${told%% *}
    files  ${told##* }
    ./build.sh pin $1 takes a newer one"
}

# write_pin TREE COMMIT DIGEST - into poudriere.conf, and for this build.
write_pin() {
	about "$1"
	[ "$2" != unknown ] ||
		die "the $words cannot be pinned: it does not tell its commit, as one that git archive packed does.
  Take such a tree, or build with --unpinned: the image then says that nothing pins it"
	python3 "$here/pin.py" "$top/poudriere.conf" "$upper" "$branch" "$2" "$3" ||
		die "the $words cannot be pinned, so that a later build could get another one unseen.
  Make poudriere.conf writable, set LL_${upper}_COMMIT=$2 LL_${upper}_SHA256=$3, or build with --unpinned"
	case $1 in
	ports) LL_PORTS_COMMIT=$2 LL_PORTS_SHA256=$3 ;;
	source) LL_SOURCE_COMMIT=$2 LL_SOURCE_SHA256=$3 ;;
	esac
}

# move_pin TREE GIVEN - to the newest commit of its branch, the one that --commit names, or the packed tree GIVEN.
move_pin() {
	about "$1"
	before=${pin:-none} held=$files
	case $1 in
	ports) LL_PORTS_COMMIT=$commit LL_PORTS_SHA256='' ;;
	source) LL_SOURCE_COMMIT=$commit LL_SOURCE_SHA256='' ;;
	esac
	mkdir -p "$work"
	packed=$work/pin.tar.gz
	if [ -n "$2" ]; then
		[ -f "$2" ] || die "there is no packed $words $2; git archive packs one"
		packed=$2
	else
		about "$1"
		say "getting the $words: ${commit:-the newest of branch $branch}"
		rm -f "$packed" "$packed.part"
		download "$url" "$packed"
	fi
	told=$(downloaded_identity "$1" "$packed") || exit 3
	if [ "${told%% *}" = "$before" ] && [ -n "$held" ] && [ "${told##* }" != "$held" ]; then
		die "commit $before has other files than the pinned ones: ${told##* }, not $held.
  A commit cannot change: whoever sent this tree changed it, or the pin was written of a changed one.  Nothing was moved;
  get the tree from elsewhere (--$1 FILE), and compare"
	fi
	write_pin "$1" "${told%% *}" "${told##* }"
	# The next build finds it there.
	[ -n "$2" ] || mv "$packed" "$(packed_name "$1")"
	say "$words, branch $branch
  before: $before${held:+, files $held}
  now:    ${told%% *}, files ${told##* }"
	[ "$before" != "${told%% *}" ] || say "  it was pinned already: nothing newer is there"
}

# origin TREE FILE - what the image says of it.
origin() {
	if is_the_pinned "$1" "$2"; then
		echo "pinned $pin $files"
	elif [ -f "$2" ] && told=$(packed_tree "$1" "$2" '' '' 2>/dev/null); then
		echo "unpinned $told"
	else
		echo "unpinned unknown"
	fi
}

# What the image says of its packages' ports and of its system: a line each.
origins() {
	if [ -n "$packages" ]; then
		echo "ports given as packages"
	else
		echo "ports $(origin ports "$ports")"
	fi
	if [ -z "$sets" ]; then
		echo "system $(origin source "$source")"
	elif sets_are_published; then
		echo "system released $LL_RELEASE"
	else
		echo "system given as sets"
	fi
}

# not_the_pinned TREE FILE - a sentence where it is another, or where nothing pins it.  A build that only checks its inputs,
# or one that is about to pin it, has none.
not_the_pinned() {
	case $2 in
	'') ;;
	"$offline/$1.tar.gz" | "$work/$1"-*.tar.gz)
		! is_pinned "$1" || return 0
		[ "$unpinned" = yes ] && [ -s "$2" ] || return 0
		told=$(packed_tree "$1" "$2" '' '') || return 0
		echo "$1: commit ${told%% *}, files ${told##* }: unpinned, as it was on the day of the build"
		;;
	*)
		is_the_pinned "$1" "$2" || {
			about "$1"
			echo "$1: ${2##*/} was given, it is not the pinned $words"
		}
		;;
	esac
}
