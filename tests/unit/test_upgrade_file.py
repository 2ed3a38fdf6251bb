"""The upgrade file, made and signed as a build does it, and taken as an appliance does: whole, cut, changed, forged."""

from __future__ import annotations

import dataclasses
import io
import json
import lzma
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder.migrations import MIGRATIONS
from linkladder.upgrade import Head, Manifest, UpgradeFault, admit, parcel, read_head, verify, writing

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "image"))
import upgrade  # noqa: E402

SIZE = 5 << 20


def system_image(folder: Path) -> Path:
    """A file system's outside: noise, a hole and an end that fills no block."""
    chance = random.Random(14)
    file = folder / "system.ufs"
    data = bytearray(SIZE + 512)
    data[0 : 2 << 20] = chance.randbytes(2 << 20)
    data[-512:] = chance.randbytes(512)
    file.write_bytes(data)
    return file


def new_key(folder: Path, name: str, comment: str = "release") -> Path:
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(key)], check=True)
    return key


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """System, upgrade file, and the signers that its system was built with."""
    folder = tmp_path_factory.mktemp("upgrade")
    system, key, file = system_image(folder), new_key(folder, "key"), folder / "new.upgrade"
    upgrade.make(system, file, "1.2.3", "amd64", 1_700_000_000, key)
    signers = folder / "signers"
    signers.write_text(upgrade.signers(key))
    return system, file, signers


def slot(tmp_path: Path) -> Path:
    """A slot with an older system in it, larger than the new one."""
    device = tmp_path / "slot"
    device.write_bytes(b"\xa5" * (SIZE + (3 << 20)))
    return device


def taken(file: Path | io.BytesIO, signers: Path, device: Path) -> Manifest:
    with file if isinstance(file, io.BytesIO) else file.open("rb") as source:
        manifest = verify(read_head(source), signers)
        writing.write(source, manifest, device, lambda done, total: None)
    return manifest


def test_a_good_file_is_written_whole(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    system, file, signers = made
    device = slot(tmp_path)
    manifest = taken(file, signers, device)
    assert (manifest.version, manifest.arch, manifest.image_size) == ("1.2.3", "amd64", SIZE + 512)
    assert device.read_bytes()[: SIZE + 512] == system.read_bytes()
    assert manifest.schema == len(MIGRATIONS) and manifest.built == "2023-11-14 22:13"


def test_progress_reaches_the_end_and_never_goes_back(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, file, signers = made
    told: list[tuple[int, int]] = []
    with file.open("rb") as source:
        manifest = verify(read_head(source), signers)
        writing.write(source, manifest, slot(tmp_path), lambda *now: told.append(now))
    assert told == sorted(told) and told[-1] == (2 * (SIZE + 512),) * 2


def test_a_cut_file_leaves_nothing_to_start(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, file, signers = made
    data, chance = file.read_bytes(), random.Random(12)
    for end in [0, 1, 21, 30, len(data) - 1, *(chance.randrange(len(data)) for _ in range(20))]:
        device = slot(tmp_path)
        with pytest.raises(UpgradeFault):
            taken(io.BytesIO(data[:end]), signers, device)
        untouched = device.read_bytes()[: writing.BLOCK] == b"\xa5" * writing.BLOCK
        assert untouched or device.read_bytes()[: writing.BLOCK] == bytes(writing.BLOCK), end


def test_any_flipped_bit_is_found(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, file, signers = made
    data, chance = file.read_bytes(), random.Random(13)
    head = read_head(io.BytesIO(data)).size
    places = [*(chance.randrange(head) for _ in range(25)), *(chance.randrange(head, len(data)) for _ in range(25))]
    for place in places:
        spoilt = bytearray(data)
        spoilt[place] ^= 1 << chance.randrange(8)
        device = slot(tmp_path)
        try:
            taken(io.BytesIO(bytes(spoilt)), signers, device)
        except UpgradeFault:
            assert device.read_bytes()[: writing.BLOCK] in (b"\xa5" * writing.BLOCK, bytes(writing.BLOCK))
        else:  # a bit of the signature's armour or of xz's padding that nothing depends on
            assert device.read_bytes()[: SIZE + 512] == made[0].read_bytes(), place


def test_what_follows_the_image_is_refused(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, file, signers = made
    with pytest.raises(UpgradeFault, match="damaged"):
        taken(io.BytesIO(file.read_bytes() + b"x"), signers, slot(tmp_path))


def forged(tmp_path: Path, key: Path, body: bytes, **changes: object) -> io.BytesIO:
    """A rightly signed file with an odd manifest: even the signer's mistakes are refused."""
    packed = lzma.compress(body, preset=0)
    fields = {
        "linkladder": "upgrade",
        "version": "1.2.3",
        "arch": "amd64",
        "schema": 1,
        "built": "2026-11-22",
        "image_size": len(body),
        "image_sha256": __import__("hashlib").sha256(body).hexdigest(),
        "packed_size": len(packed),
        **changes,
    }
    text = json.dumps({name: value for name, value in fields.items() if value is not None}).encode()
    head = Head(text, upgrade.sign(text, key))
    return io.BytesIO(head.lead() + text + head.signature + packed)


@pytest.mark.parametrize(
    "changes",
    [
        {"linkladder": "report"},
        {"version": "1.2"},
        {"version": "../../x"},
        {"arch": "AMD 64"},
        {"schema": "8"},
        {"schema": True},
        {"schema": 0},
        {"image_size": -512},
        {"image_size": 1000},
        {"image_size": 1 << 60},
        {"image_sha256": "0" * 63},
        {"packed_size": 2.5},
        {"built": None},
        {"more": 1},
    ],
    ids=str,
)
def test_signed_nonsense_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    key = new_key(tmp_path, "key")
    signers = tmp_path / "signers"
    signers.write_text(upgrade.signers(key))
    with pytest.raises(UpgradeFault, match="manifest cannot be understood"):
        verify(read_head(forged(tmp_path, key, bytes(512), **changes)), signers)


@pytest.mark.parametrize("changes", [{"image_size": 512}, {"image_size": 4096}, {"packed_size": 60}], ids=str)
def test_an_image_of_another_size_than_signed_is_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    key = new_key(tmp_path, "key")
    signers, device = tmp_path / "signers", slot(tmp_path)
    signers.write_text(upgrade.signers(key))
    with pytest.raises(UpgradeFault, match="damaged"):
        taken(forged(tmp_path, key, b"system!!" * 256, **changes), signers, device)
    assert device.read_bytes()[:512] == bytes(512)


def test_more_than_was_signed_is_not_even_unpacked(tmp_path: Path) -> None:
    key = new_key(tmp_path, "key")
    signers, device = tmp_path / "signers", slot(tmp_path)
    signers.write_text(upgrade.signers(key))
    bomb = forged(tmp_path, key, bytes(64 << 20), image_size=512)
    with pytest.raises(UpgradeFault, match="more in it than was signed"):
        taken(bomb, signers, device)
    assert device.stat().st_size == SIZE + (3 << 20)


def test_another_key_another_purpose_and_no_key(made: tuple[Path, Path, Path], tmp_path: Path) -> None:
    _, file, signers = made
    with file.open("rb") as source:
        head = read_head(source)
    others = tmp_path / "others"
    others.write_text(upgrade.signers(new_key(tmp_path, "other")))
    report = tmp_path / "report"
    report.write_text(signers.read_text().replace("linkladder-upgrade,", "linkladder-report,"))
    for wrong in (others, report):
        with pytest.raises(UpgradeFault, match="not signed for this system"):
            verify(head, wrong)
    with pytest.raises(UpgradeFault, match="cannot be verified"):
        verify(head, tmp_path / "none")
    both = tmp_path / "both"
    both.write_text(others.read_text() + signers.read_text())
    assert verify(head, both).version == "1.2.3"


def test_who_may_follow_whom() -> None:
    new = Manifest("1.2.3", "amd64", 8, "", 4096, "0" * 64, 100)
    admit(new, "1.2.2", 4096, arch="amd64")
    admit(new, "1.2.3", 4096, arch="amd64")  # again, as after a repair
    admit(new, "1.2.3.dev4", 4096, arch="amd64")
    with pytest.raises(UpgradeFault, match="is for amd64"):
        admit(new, "1.2.2", 4096, arch="arm64")
    with pytest.raises(UpgradeFault, match="too large"):
        admit(new, "1.2.2", 4095, arch="amd64")
    for later in ("1.2.4", "1.10.0", "2.0.0.dev1"):
        with pytest.raises(UpgradeFault, match="is older"):
            admit(new, later, 4096, arch="amd64")
        admit(new, later, 4096, arch="amd64", downgrade=True)
    with pytest.raises(UpgradeFault, match="is older"):
        admit(replace(new, version="1.2.3.dev1"), "1.2.3", 4096, arch="amd64")


def test_only_a_plain_file_is_read(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"x")
    (tmp_path / "link").symlink_to(target)
    for place in (tmp_path / "link", tmp_path / "none"):
        with pytest.raises(OSError):
            writing.open_file(str(place))
    with pytest.raises(UpgradeFault, match="no plain file"):
        writing.open_file("/dev/null")
    with writing.open_file(str(target)) as file:
        assert file.read() == b"x"


def test_a_key_made_by_the_builder_is_known_for_one(tmp_path: Path) -> None:
    key = upgrade.development_key(tmp_path / "work")
    assert upgrade.development_key(tmp_path / "work") == key and key.stat().st_mode & 0o077 == 0
    signers = tmp_path / "signers"
    assert parcel.development(signers) is None
    signers.write_text(upgrade.signers(key))
    assert parcel.development(signers) is True
    signers.write_text(upgrade.signers(new_key(tmp_path, "release")))
    assert parcel.development(signers) is False


def test_the_manifest_says_no_more_than_it_must() -> None:
    assert {field.name for field in dataclasses.fields(Manifest)} == {
        "version",
        "arch",
        "schema",
        "built",
        "image_size",
        "image_sha256",
        "packed_size",
    }


def test_a_build_needs_no_sqlite(tmp_path: Path) -> None:
    """Which FreeBSD's python3 does not have: its build ended at once, and blamed the key."""
    new_key(tmp_path, "upgrade-key")
    without = "import runpy, sys; sys.modules['sqlite3'] = None; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
    argv = [sys.executable, "-c", without, str(TOP / "image/upgrade.py"), "signers", str(tmp_path / "upgrade-key")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "ssh-ed25519" in done.stdout, done.stderr
