"""Where an upgrade file comes from: fetched, from a stick, from a path; and nothing is taken that nobody signed."""

from __future__ import annotations

import http.server
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linkladder import cli, state, upgrading
from linkladder.errors import EnvironmentFault, LinkladderError, UsageError
from linkladder.host import switches
from linkladder.upgrade import UpgradeFault

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "image"))
import upgrade  # noqa: E402


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with upgrade files, signers, and a certificate for a server on loopback."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "system").write_bytes(bytes(range(256)) * 4096 + bytes(1 << 20))
    key = upgrade.development_key(folder)
    for version in ("0.9.0", "0.10.0"):
        upgrade.make(folder / "system", folder / f"linkladder-{version}.upgrade", version, "amd64", 0, key)
    (folder / "signers").write_text(upgrade.signers(key))
    other = folder / "other"
    other.mkdir()
    upgrade.make(folder / "system", other / "b.upgrade", "7.0.0", "amd64", 0, upgrade.development_key(other))
    certificate = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    out = ["-keyout", str(folder / "tls.key"), "-out", str(folder / "tls.crt")]
    subprocess.run(["openssl", "req", *certificate, *names, *out], check=True, capture_output=True)
    return folder


@contextmanager
def served(made: Path, body: bytes, claimed: int | None = None) -> Iterator[tuple[str, list[int]]]:
    """An https server with one file; its address, and how many bytes it got rid of."""
    sent: list[int] = []

    class One(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/new.upgrade" else 404)
            self.send_header("Content-Length", str(claimed or len(body)))
            self.end_headers()
            try:
                for start in range(0, len(body), 4096):
                    self.wfile.write(body[start : start + 4096])
                    sent.append(4096)
            except OSError:
                pass

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), One)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made / "tls.crt", made / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}/new.upgrade", sent
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def quiet(*_: object) -> None:
    pass


async def test_fetched_whole_and_gone_afterwards(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    data = (made / "linkladder-0.9.0.upgrade").read_bytes()
    told: list[int] = []
    with served(made, data) as (address, _):
        progress = upgrading.obtained(address, lambda what, done, total, s: told.append(done), made / "signers")
        async with progress as (file, manifest):
            assert file.read_bytes() == data and manifest.version == "0.9.0"
            assert file.is_relative_to(state.folder())
    assert told and told[-1] == manifest.packed_size and not file.exists()


@pytest.mark.parametrize(
    ("end", "claimed", "words"),
    [(-50, None, "could not be fetched"), (-50, 10**9, "could not be fetched"), (30, None, "damaged")],
)
async def test_a_cut_answer_is_no_upgrade(
    made: Path, monkeypatch: pytest.MonkeyPatch, end: int, claimed: int | None, words: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    data = (made / "linkladder-0.9.0.upgrade").read_bytes()[:end]
    with served(made, data, claimed) as (address, _), pytest.raises(LinkladderError, match=words):
        async with upgrading.obtained(address, quiet, made / "signers"):
            pass
    assert not (state.folder() / "upgrade").exists()


async def test_what_nobody_signed_is_not_even_fetched(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    data = (made / "other/b.upgrade").read_bytes() + bytes(64 << 20)
    with served(made, data) as (address, sent), pytest.raises(UpgradeFault, match="not signed for this system"):
        async with upgrading.obtained(address, quiet, made / "signers"):
            pass
    assert sum(sent) < 16 << 20


async def test_without_room_without_trust_and_without_tls(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (made / "linkladder-0.9.0.upgrade").read_bytes()
    with served(made, data) as (address, _):
        with pytest.raises(EnvironmentFault, match="could not be fetched"):  # nobody vouches for the server
            async with upgrading.obtained(address, quiet, made / "signers"):
                pass
        monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
        with pytest.raises(EnvironmentFault, match="could not be fetched"):  # 404
            async with upgrading.obtained(f"{address}x", quiet, made / "signers"):
                pass
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
        with pytest.raises(EnvironmentFault, match="no room"):
            async with upgrading.obtained(address, quiet, made / "signers"):
                pass
    for other in ("http://127.0.0.1/new.upgrade", "file:///etc/passwd", "ftp://127.0.0.1/x"):
        with pytest.raises(UsageError, match="no way to fetch"):
            async with upgrading.obtained(other, quiet, made / "signers"):
                pass


async def test_of_a_stick_the_newest_that_is_signed(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stick = tmp_path / "stick"
    stick.mkdir()
    monkeypatch.setattr(switches, "mounted_stick", lambda: str(stick))
    with pytest.raises(UpgradeFault, match="no upgrade is on the stick"):
        async with upgrading.obtained("stick", quiet, made / "signers"):
            pass
    shutil.copy(made / "other/b.upgrade", stick)
    with pytest.raises(UpgradeFault, match="not signed for this system"):
        async with upgrading.obtained("stick", quiet, made / "signers"):
            pass
    for file in made.glob("*.upgrade"):
        shutil.copy(file, stick)
    async with upgrading.obtained("stick", quiet, made / "signers") as (file, manifest):
        assert (file.name, manifest.version) == ("linkladder-0.10.0.upgrade", "0.10.0")


async def test_without_a_stick_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switches, "mounted_stick", lambda: "")
    monkeypatch.setattr(switches, "sticks", tuple)
    with pytest.raises(EnvironmentFault, match="no USB stick"):
        async with upgrading.obtained("stick", quiet):
            pass


async def test_a_path_is_taken_from_where_one_stands(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)
    async with upgrading.obtained("linkladder-0.9.0.upgrade", quiet, made / "signers") as (file, _):
        assert file.is_absolute()
    with pytest.raises(UsageError, match="cannot be read"):
        async with upgrading.obtained("none.upgrade", quiet, made / "signers"):
            pass


def test_what_was_wrong_before_is_remembered() -> None:
    assert upgrading.noted_red() == frozenset()
    upgrading.note_red(["adapters", "iperf"])
    assert upgrading.noted_red() == {"adapters", "iperf"}
    (state.folder() / upgrading.RED).write_text("{")
    assert upgrading.noted_red() == frozenset()


def test_progress_in_words() -> None:
    assert upgrading.line("writing", 42, 100, 58.0) == "writing 42 %, 1 min 20 s to go"
    assert upgrading.line("writing", 0, 100, 0.1) == "writing 0 %"
    assert upgrading.line("fetching", 100, 100, 9.0) == "fetching 100 %"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a Linux machine is no appliance")
def test_the_command_says_how_it_stands_and_what_it_wants(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["system", "upgrade", "--status"]) == 0
    assert "cannot be upgraded in its place" in capsys.readouterr().out
    assert cli.main(["system", "upgrade"]) == 2
    assert "upgrade to what?" in capsys.readouterr().err
    assert cli.main(["system", "upgrade", "x.upgrade", "--yes"]) == 2
    assert "this is Linux" in capsys.readouterr().err
