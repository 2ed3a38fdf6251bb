"""The two slots: which one runs, which is written, what the next start brings up, and what a person is told."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from linkladder import __version__
from linkladder.upgrade import UpgradeFault, as_root
from linkladder.upgrade.slots import Slots, slots_of
from linkladder.upgrade.status import status_of

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "image"))
import upgrade  # noqa: E402

UUIDS = {3: "49c35b90-e678-11f1-18ec-29cdbaabf2fb", 4: "5a3c1e70-e678-11f1-18ec-29cdbaabf2fb"}
SIZE = 3 << 20


class Disk:
    """A disk with a table as the kernel tells of it, on which gpart's marks work as GEOM's do."""

    def __init__(self, folder: Path, root: str = "ufs/linkladder", *, second: bool = True) -> None:
        self.folder, self.root, self.mounted = folder, root, 0
        self.parts = {3: ("llroot", set[str]()), **({4: ("llroot2", set[str]())} if second else {})}
        self.parts[5] = ("llstate", set())
        self.said: list[str] = []
        for index in self.parts:
            (folder / f"vtbd0p{index}").write_bytes(b"\xa5" * SIZE)

    def confxml(self) -> str:
        rows = []
        for index, (label, marks) in self.parts.items():
            attributes = "".join(f"<attrib>{mark}</attrib>" for mark in sorted(marks))
            config = f"<index>{index}</index><type>freebsd-ufs</type><label>{label}</label>{attributes}"
            config += f"<rawuuid>{UUIDS.get(index, '')}</rawuuid>"
            rows.append(
                f"<provider><mediasize>{SIZE}</mediasize><name>vtbd0p{index}</name><config>{config}</config></provider>"
            )
        label = "<geom><name>vtbd0p3</name><provider><name>ufs/linkladder</name></provider></geom>"
        label += f"<geom><name>vtbd0p4</name><provider><name>gptid/{UUIDS[4]}</name></provider></geom>"
        return (
            f"<mesh><class><name>LABEL</name>{label}</class><class><name>PART</name>"
            f"<geom><name>vtbd0</name>{''.join(rows)}</geom></class></mesh>\n\0"
        )

    def run(self, argv: Sequence[str]) -> str:
        name, *words = argv
        self.said.append(" ".join([name.rpartition("/")[2], *words]))
        match name:
            case "/sbin/mount" if words == ["-p"]:
                return f"/dev/{self.root}\t/\tufs\trw\t1 1\ntmpfs\t/tmp\ttmpfs\trw\t0 0\n"
            case "/sbin/mount":
                # What the slot holds by now is looked at by the test; a real mount shows the new system's files.
                (as_root.PLACE / "etc").mkdir(parents=True)
                (as_root.PLACE / "boot").mkdir()
                (as_root.PLACE / "boot/loader.efi").write_bytes(b"x")
                (as_root.PLACE / "etc/fstab").write_text("tmpfs /tmp tmpfs rw 0 0\n/dev/ufs/linkladder / ufs rw 1 1\n")
                self.mounted += 1
            case "/sbin/umount":
                self.mounted -= 1
            case "/sbin/sysctl":
                return self.confxml()
            case "/sbin/gpart":
                verb, _, mark, _, index, disk = words
                assert disk == "vtbd0"
                marks = self.parts[int(index)][1]
                if verb == "set":
                    marks |= {mark, "bootme"} if mark == "bootonce" else {mark}
                else:
                    marks.discard(mark)
        return ""

    def start(self) -> int:
        """Which of them the boot program starts, and what it leaves [stand/libsa/gpt.c]."""
        marks = {index: entry[1] for index, entry in self.parts.items()}
        for mine in marks.values():
            if "bootonce" in mine and "bootme" not in mine:
                mine.discard("bootonce")
                mine.add("bootfailed")
        once = [index for index, mine in marks.items() if {"bootme", "bootonce"} <= mine]
        if once:
            marks[once[0]].discard("bootme")
            return once[0]
        return next((index for index, mine in marks.items() if "bootme" in mine), 3)

    def slots(self) -> Slots:
        found = slots_of(self.confxml(), f"/dev/{self.root}")
        assert found is not None
        return found


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    for name in ("RECORD", "WHY", "PROGRESS", "LOCK", "PLACE"):
        monkeypatch.setattr(as_root, name, tmp_path / name)
    monkeypatch.setattr(as_root, "DEVICES", tmp_path)
    monkeypatch.setattr("platform.machine", lambda: "amd64")
    return Disk(tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """An upgrade file, and its signers."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "system").write_bytes(b"new system" * 51200)
    key = upgrade.development_key(folder)
    upgrade.make(folder / "system", folder / "new.upgrade", "9.0.0", "amd64", 0, key)
    upgrade.make(folder / "system", folder / "old.upgrade", "0.0.1", "amd64", 0, key)
    (folder / "signers").write_text(upgrade.signers(key))
    return folder / "new.upgrade", folder / "signers"


def apply(disk: Disk, made: tuple[Path, Path], file: Path | None = None, *, downgrade: bool = False) -> None:
    as_root.upgrade(str(file or made[0]), downgrade=downgrade, run=disk.run, signers=made[1])


def test_the_slot_that_does_not_run_is_written_and_starts_once(disk: Disk, made: tuple[Path, Path]) -> None:
    before = (disk.folder / "vtbd0p3").read_bytes()
    apply(disk, made)
    assert (disk.folder / "vtbd0p4").read_bytes().startswith(b"new system" * 51200)
    assert (disk.folder / "vtbd0p3").read_bytes() == before and disk.mounted == 0
    assert "to start once" not in status_of(disk.slots(), {}, "").words
    text = (as_root.PLACE / "etc/fstab").read_text()
    assert text == f"tmpfs /tmp tmpfs rw 0 0\n/dev/gptid/{UUIDS[4]}\t/\tufs\trw\t1\t1\n"
    assert disk.start() == 4
    disk.root = f"gptid/{UUIDS[4]}"
    assert disk.slots().on_trial and disk.slots().running.device == "vtbd0p4"
    # Nobody confirms it: the next start is the old one's, and so is every one after.
    assert (disk.start(), disk.start()) == (3, 3)
    disk.root = "ufs/linkladder"
    assert disk.slots().failed


def test_back_into_the_first_slot_by_the_next_upgrade(disk: Disk, made: tuple[Path, Path]) -> None:
    disk.root = f"gptid/{UUIDS[4]}"
    apply(disk, made)
    assert disk.said[-1] == "gpart set -a bootonce -i 3 vtbd0"
    assert (disk.folder / "vtbd0p3").read_bytes().startswith(b"new system")
    assert (disk.folder / "vtbd0p4").read_bytes() == b"\xa5" * SIZE
    assert disk.start() == 3


def test_the_power_cut_after_any_step_starts_what_ran(disk: Disk, made: tuple[Path, Path]) -> None:
    apply(disk, made)
    steps = len(disk.said)
    for last in range(steps - 1):
        again = Disk(disk.folder)
        for file in ("etc", "boot"):
            subprocess.run(["rm", "-rf", as_root.PLACE / file], check=True)

        def cut(argv: Sequence[str], again: Disk = again, last: int = last) -> str:
            if len(again.said) > last:
                raise KeyboardInterrupt
            return again.run(argv)

        with pytest.raises(KeyboardInterrupt):
            as_root.upgrade(str(made[0]), downgrade=False, run=cut, signers=made[1])
        assert again.start() == 3, again.said


@pytest.mark.parametrize("left", [set(), {"bootme"}, {"bootme", "bootonce"}, {"bootfailed"}], ids=sorted)
def test_a_file_that_goes_bad_on_the_way_is_never_started(
    disk: Disk, made: tuple[Path, Path], tmp_path: Path, left: set[str]
) -> None:
    """Whatever marks the other place has: of an upgrade that waits for its start, or of one that failed."""
    disk.root, disk.parts[3] = f"gptid/{UUIDS[4]}", ("llroot", set(left))
    data = bytearray(made[0].read_bytes())
    data[-20] ^= 1
    bad = tmp_path / "bad.upgrade"
    bad.write_bytes(data)
    with pytest.raises(UpgradeFault, match="damaged"):
        apply(disk, made, bad)
    assert disk.start() == 4 and not any("gpart set -a bootonce" in line for line in disk.said)
    assert not as_root.RECORD.exists()


def test_a_system_that_could_not_start_is_not_tried(disk: Disk, made: tuple[Path, Path]) -> None:
    def without(argv: Sequence[str]) -> str:
        said = disk.run(argv)
        if list(argv[:2]) == ["/sbin/mount", "-t"]:
            (as_root.PLACE / "boot/loader.efi").unlink()
        return said

    with pytest.raises(UpgradeFault, match="has no loader"):
        as_root.upgrade(str(made[0]), downgrade=False, run=without, signers=made[1])
    assert disk.start() == 3 and disk.mounted == 0


def test_what_is_refused_before_anything_is_touched(disk: Disk, made: tuple[Path, Path], tmp_path: Path) -> None:
    old = made[0].with_name("old.upgrade")
    with pytest.raises(UpgradeFault, match="is older"):
        apply(disk, made, old)
    no_key = tmp_path / "none"
    with pytest.raises(UpgradeFault, match="cannot be verified"):
        apply(disk, (made[0], no_key))
    disk.parts[3][1].add("bootonce")  # it is on trial itself
    with pytest.raises(UpgradeFault, match="on trial"):
        apply(disk, made)
    disk.parts[3][1].clear()
    assert not [line for line in disk.said if line.startswith(("gpart", "mount -t"))]
    apply(disk, made, old, downgrade=True)
    assert disk.start() == 4


def test_two_at_once_do_not_write_into_each_others_slot(disk: Disk, made: tuple[Path, Path]) -> None:
    """The second would write over what the first has compared already, and will start."""
    tried: list[str] = []

    def second(argv: Sequence[str]) -> str:
        if list(argv[:2]) == ["/sbin/gpart", "set"] and not tried:  # amid the first
            with pytest.raises(UpgradeFault, match="being written already"):
                apply(disk, made, made[0].with_name("old.upgrade"), downgrade=True)
            tried.append("second")
        return disk.run(argv)

    as_root.upgrade(str(made[0]), downgrade=False, run=second, signers=made[1])
    assert tried and disk.start() == 4
    subprocess.run(["rm", "-rf", as_root.PLACE / "etc", as_root.PLACE / "boot"], check=True)
    apply(disk, made)


def test_a_disk_for_one_system_says_so(disk: Disk, made: tuple[Path, Path]) -> None:
    del disk.parts[4]
    with pytest.raises(UpgradeFault, match="cannot be upgraded in its place"):
        apply(disk, made)
    disk.root = "iso9660/LINKLADDER"
    assert slots_of(disk.confxml(), f"/dev/{disk.root}") is None
    assert slots_of("nonsense", "/dev/vtbd0p3") is None
    assert "cannot be upgraded" in status_of(None, {}, "").words


def test_a_person_is_told_what_became_of_it(disk: Disk) -> None:
    record = {"from": "0.1.0", "to": "0.2.0"}
    one, two = disk.parts[3][1], disk.parts[4][1]
    one.add("bootme")
    assert status_of(disk.slots(), {}, "", "0.1.0").words == "0.1.0 runs and is kept"
    two |= {"bootme", "bootonce"}
    assert "0.2.0 is written and starts at the next boot, once" in status_of(disk.slots(), record, "", "0.1.0").words
    two.discard("bootme")
    disk.root = f"gptid/{UUIDS[4]}"
    assert "0.2.0 is on trial" in status_of(disk.slots(), record, "", "0.2.0").words
    disk.root = "ufs/linkladder"
    two.clear()
    two.add("bootfailed")
    failed = status_of(disk.slots(), record, "the console did not come up\n", "0.1.0")
    assert failed.trouble and "did not start" in failed.words and "0.1.0) is back" in failed.words
    assert "did not come up" in status_of(disk.slots(), record, "", "0.1.0").words


def test_only_root_s_own_words_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert as_root.main([]) == 2 and as_root.main(["a", "b"]) == 2 and as_root.main(["a", "downgrade", "c"]) == 2
    assert re.search(r"usage", capsys.readouterr().err) and __version__


# --- the shell script that keeps a healthy system, over the same disk

FAKE = """\
import sys
from pathlib import Path
marks = Path(sys.argv[1])
rows = dict(line.split(":") for line in marks.read_text().splitlines())
words = sys.argv[2:]
if words[0] == "status":
    print("  vtbd0p3  OK  vtbd0\\n  vtbd0p4  OK  vtbd0\\n    da0p3  OK  da0")
elif words[0] == "show":
    for index, label in (("3", "llroot"), ("4", "llroot2"), ("5", "llstate")):
        third = label if words[1] == "-lp" else "freebsd-ufs"
        told = f"[{rows[index]}]" if rows.get(index) else ""
        print(f"  2048  5859375  vtbd0p{index}  {third}  {told}  (2.8G)")
elif words[0] == "recover":
    rows.pop("damaged", "")
    marks.write_text("".join(f"{k}:{v}\\n" for k, v in rows.items()))
elif "damaged" in rows:
    sys.exit("gpart: table 'vtbd0' is corrupt: Operation not permitted")
else:
    verb, _, mark, _, index, _ = words
    have = set(filter(None, rows.get(index, "").split(",")))
    if verb == "set":
        have |= {mark, "bootme"} if mark == "bootonce" else {mark}
    else:
        have.discard(mark)
    rows[index] = ",".join(sorted(have))
    marks.write_text("".join(f"{k}:{v}\\n" for k, v in rows.items()))
"""


def slot_script(
    tmp_path: Path,
    words: Sequence[str],
    marks: str,
    root: str = "vtbd0p4",
    su: str = "echo healthy",
    stick: str = "backup",
) -> str:
    """The marks afterwards; `stick`: the volume name of what is on another disk."""
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    (tmp_path / "fake.py").write_text(FAKE)
    (tmp_path / "marks").write_text(marks)
    programs = {
        "gpart": f'exec {sys.executable} {tmp_path}/fake.py {tmp_path}/marks "$@"',
        "mount": f"printf '/dev/{root}\\t/\\tufs\\trw\\n'",
        "pgrep": "echo 123",
        "glabel": "echo '  ufs/linkladder  N/A  vtbd0p3'",
        "fstyp": f'case $2 in /dev/da0p3) echo "ufs {stick}" ;; *) echo "ufs linkladder" ;; esac',
        "logger": f'echo "$3" >>{tmp_path}/logged',
        "su": su,
        "reboot": f"echo reboot >>{tmp_path}/rebooted; kill $PPID",
        "sync": ":",
        "sleep": ":",
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    text = (TOP / "overlay/usr/local/libexec/linkladder-slot").read_text()
    script = tmp_path / "slot"
    script.write_text(text.replace("export PATH=", f"export PATH={folder}:/usr/bin:", 1))
    env = {"LL_SYSTEM": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", script, *words], capture_output=True, text=True, env=env, timeout=60)
    (tmp_path / "status").write_text(str(done.returncode))
    return (tmp_path / "marks").read_text().replace("\n", " ").strip()


def test_a_healthy_system_on_trial_is_kept(tmp_path: Path) -> None:
    (tmp_path / "upgrade.why").write_text("was not up before")
    assert slot_script(tmp_path, ["check", "60"], "3:bootme\n4:bootonce\n") == "3: 4:bootme"
    assert not (tmp_path / "upgrade.why").exists()


def test_a_table_whose_copies_a_power_cut_left_unlike_is_made_whole_before_anything_is_marked(tmp_path: Path) -> None:
    assert slot_script(tmp_path, ["check", "60"], "3:bootme\n4:bootonce\ndamaged:\n") == "3: 4:bootme"
    slot_script(tmp_path, ["trial"], "3:bootme\n4:bootonce\ndamaged:\n")
    assert (tmp_path / "status").read_text() == "0"
    assert slot_script(tmp_path, ["trial"], "3:bootme\n4:\ndamaged:\n", root="vtbd0p3") == "3:bootme 4:"


def test_one_that_is_not_healthy_is_left_on_trial_and_says_why(tmp_path: Path) -> None:
    assert slot_script(tmp_path, ["check", "1"], "3:bootme\n4:bootonce\n", su="echo no agent") == "3:bootme 4:bootonce"
    assert (tmp_path / "upgrade.why").read_text() == "no agent\n"
    slot_script(tmp_path, ["await", "1"], "3:bootme\n4:bootonce\n")
    assert (tmp_path / "rebooted").exists() and (tmp_path / "upgrade.why").read_text() == "no agent\n"


def test_a_system_that_is_kept_is_not_rebooted(tmp_path: Path) -> None:
    for marks in ("3:\n4:bootme\n", "3:bootme\n4:bootme,bootonce\n"):
        slot_script(tmp_path, ["await", "1"], marks)
        assert not (tmp_path / "rebooted").exists()
        slot_script(tmp_path, ["trial"], marks)
        assert (tmp_path / "status").read_text() == "1"
    slot_script(tmp_path, ["trial"], "3:bootme\n4:bootonce\n")
    assert (tmp_path / "status").read_text() == "0"


def test_of_two_that_would_start_the_one_that_runs_does(tmp_path: Path) -> None:
    settled = {
        "3:bootme\n4:bootme\n": "3: 4:bootme",  # the power went while it was being kept
        "3:bootme\n4:\n": "3: 4:bootme",
        "3:bootme,bootonce\n4:bootme\n": "3:bootme,bootonce 4:bootme",  # an order that was just given
        "3:bootme\n4:bootonce\n": "3:bootme 4:bootonce",  # on trial: not yet
        "3:bootfailed\n4:bootme\n": "3:bootfailed 4:bootme",
    }
    for marks, after in settled.items():
        assert slot_script(tmp_path, ["settle"], marks) == after


def test_the_marks_of_a_disk_are_left_where_the_system_may_be_another_disks(tmp_path: Path) -> None:
    """A live stick in a machine whose disk was written from an image too: by their name / may be the disk's."""
    marks, name = "3:\n4:bootme\n", "ufs/linkladder"
    assert slot_script(tmp_path, ["settle"], marks, root=name, stick="linkladder") == "3: 4:bootme"
    (line,) = (tmp_path / "logged").read_text().splitlines()
    assert line == "the boot marks are left as they are: systems of one name are on da0 vtbd0"
    # One disk with both systems, or another name, says which is meant.
    assert slot_script(tmp_path, ["settle"], marks, root=name) == "3:bootme 4:"
    assert slot_script(tmp_path, ["settle"], marks, root="vtbd0p3", stick="linkladder") == "3:bootme 4:"
    assert len((tmp_path / "logged").read_text().splitlines()) == 1
