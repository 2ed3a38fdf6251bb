"""Where an upgrade file comes from: fetched, from a stick, from a path; and nothing is taken that nobody signed."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linkladder import cli, state, upgrading
from linkladder.errors import EnvironmentFault, LinkladderError, UsageError, in_a_line
from linkladder.host import switches
from linkladder.upgrade import UpgradeFault
from linkladder.upgrading import fetching
from linkladder.upgrading.fetching import Patience

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


Handler = http.server.BaseHTTPRequestHandler


@contextmanager
def serving(made: Path, answer: Callable[[Handler], None]) -> Iterator[str]:
    """An https server that answers in this way; its address."""

    class One(Handler):
        def do_GET(self) -> None:
            with contextlib.suppress(OSError):
                answer(self)

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), One)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made / "tls.crt", made / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}/new.upgrade"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def served(made: Path, body: bytes, claimed: int | None = None) -> Iterator[tuple[str, list[int]]]:
    """An https server with one file; its address, and how many bytes it got rid of."""
    sent: list[int] = []

    def answer(to: Handler) -> None:
        to.send_response(200 if to.path == "/new.upgrade" else 404)
        to.send_header("Content-Length", str(claimed or len(body)))
        to.end_headers()
        for start in range(0, len(body), 4096):
            to.wfile.write(body[start : start + 4096])
            sent.append(4096)

    with serving(made, answer) as address:
        yield address, sent


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
    [(-50, None, "could not be fetched"), (-50, 10**9, "the server has 1000000000 bytes"), (30, None, "damaged")],
)
async def test_a_cut_answer_is_no_upgrade(
    made: Path, monkeypatch: pytest.MonkeyPatch, end: int, claimed: int | None, words: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    data = (made / "linkladder-0.9.0.upgrade").read_bytes()[:end]
    with served(made, data, claimed) as (address, _), pytest.raises(LinkladderError) as told:
        async with upgrading.obtained(address, quiet, made / "signers"):
            pass
    assert words in in_a_line(told.value)
    assert not (state.folder() / "upgrade").exists()


async def test_what_nobody_signed_is_not_even_fetched(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    data = (made / "other/b.upgrade").read_bytes() + bytes(64 << 20)
    with served(made, data) as (address, sent), pytest.raises(UpgradeFault, match="not signed for this system"):
        async with upgrading.obtained(address, quiet, made / "signers"):
            pass
    assert sum(sent) < 16 << 20


def drip(to: Handler, data: bytes) -> None:
    """A byte every tenth of a second for a minute, which whoever gives up cuts short."""
    for place in range(min(600, len(data))):
        to.wfile.write(data[place : place + 1])
        time.sleep(0.1)


def whole(made: Path) -> bytes:
    return (made / "linkladder-0.9.0.upgrade").read_bytes()


SLOW = Patience(head=1.0, least=1000, within=1.0)


@pytest.mark.parametrize(
    ("at", "patience", "words"),
    [
        ("headers", SLOW, "beginning of the file was not there after 1 s"),
        ("head", SLOW, "beginning of the file was not there after 1 s"),
        ("image", SLOW, "B came in 1 s"),
        ("image", replace(SLOW, within=3600.0, total=1.0), "B came in 1 s"),
    ],
)
async def test_a_server_that_drips_is_given_up(
    made: Path, monkeypatch: pytest.MonkeyPatch, at: str, patience: Patience, words: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    monkeypatch.setattr(fetching, "Patience", lambda: patience)
    data = whole(made)
    cut = threading.Event()

    def answer(to: Handler) -> None:
        try:
            to.send_response(200)
            if at == "headers":
                to.flush_headers()
                drip(to, b"X-Filler: " + b"y" * 1000)
            to.send_header("Content-Length", str(len(data)))
            to.end_headers()
            start = 50 if at == "head" else len(data) - 600
            to.wfile.write(data[:start])
            drip(to, data[start:])
        except OSError:
            cut.set()

    with serving(made, answer) as address:
        with pytest.raises(EnvironmentFault, match="comes too slowly") as told:
            async with upgrading.obtained(address, quiet, made / "signers"):
                pass
        assert re.search(words, told.value.cause) and "stick" in told.value.hint
        assert await asyncio.to_thread(cut.wait, 30), "the connection is closed, not left to drip on"


async def test_who_cancels_a_dripping_fetch_does_not_wait_for_it(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    data, cut = whole(made), threading.Event()

    def answer(to: Handler) -> None:
        try:
            to.send_response(200)
            to.end_headers()
            to.wfile.write(data[:-600])
            drip(to, data[-600:])
        except OSError:
            cut.set()

    async def fetched() -> None:
        async with upgrading.obtained(address, quiet, made / "signers"):
            pass

    with serving(made, answer) as address:
        task = asyncio.create_task(fetched())
        while not (state.folder() / "upgrade/new.upgrade").exists():
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(cut.wait, 30), "the thread's connection is cut"
    assert not (state.folder() / "upgrade").exists()


@pytest.mark.parametrize("to_where", ["http://127.0.0.1:1/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "data:,x"])
async def test_a_redirect_leads_to_https_alone_and_its_body_is_not_read(
    made: Path, monkeypatch: pytest.MonkeyPatch, to_where: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    sent: list[int] = []

    def answer(to: Handler) -> None:
        to.send_response(302)
        to.send_header("Location", to_where if to.path != "/new.upgrade" else "/elsewhere")
        to.end_headers()
        for _ in range(1024):
            to.wfile.write(bytes(1 << 16))
            sent.append(1 << 16)

    with serving(made, answer) as address, pytest.raises(EnvironmentFault) as told:
        async with upgrading.obtained(address, quiet, made / "signers"):
            pass
    assert to_where in told.value.cause and sum(sent) < 64 << 20


async def test_a_redirect_to_https_is_followed_and_a_circle_is_not(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    data, asked = whole(made), []

    def answer(to: Handler) -> None:
        asked.append(to.path)
        round_and_round = to.path == "/circle"
        moved = to.path == "/new.upgrade" or round_and_round
        to.send_response(307 if moved else 200)
        if moved:
            to.send_header("Location", "/circle" if round_and_round else "other/place")
        to.send_header("Content-Length", str(0 if moved else len(data)))
        to.end_headers()
        to.wfile.write(b"" if moved else data)

    with serving(made, answer) as address:
        async with upgrading.obtained(address, quiet, made / "signers") as (file, _):
            assert file.read_bytes() == data and asked == ["/new.upgrade", "/other/place"]
        with pytest.raises(EnvironmentFault, match="could not be fetched"):
            async with upgrading.obtained(address.replace("new.upgrade", "circle"), quiet, made / "signers"):
                pass
    assert len(asked) < 12


async def test_of_an_endless_answer_no_more_is_kept_than_was_signed(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))
    data, sent = whole(made), []

    def answer(to: Handler) -> None:
        to.send_response(200)
        to.end_headers()
        to.wfile.write(data)
        for _ in range(1024):
            to.wfile.write(bytes(1 << 16))
            sent.append(1 << 16)

    with serving(made, answer) as address:
        async with upgrading.obtained(address, quiet, made / "signers") as (file, _):
            assert file.read_bytes() == data
    assert sum(sent) < 64 << 20


async def test_an_answer_that_is_no_http_is_told_in_words(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(made / "tls.crt"))

    def answer(to: Handler) -> None:
        to.wfile.write(b"hello\r\n\r\n")

    with serving(made, answer) as address, pytest.raises(EnvironmentFault, match="could not be fetched"):
        async with upgrading.obtained(address, quiet, made / "signers"):
            pass


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


@pytest.mark.skipif(os.geteuid() != 0, reason="to mount takes root")
def test_who_fills_the_folder_of_everybody_keeps_no_upgrade_out(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, home = tmp_path / "full", tmp_path / "home"
    full.mkdir()
    home.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", full], check=True)
    try:
        (full / "filler").write_bytes(bytes(4096))
        monkeypatch.setattr(tempfile, "tempdir", str(full))
        monkeypatch.setenv("HOME", str(home))
        assert upgrading.manifest_of(made / "linkladder-0.9.0.upgrade", made / "signers").version == "0.9.0"
    finally:
        subprocess.run(["umount", full], check=True)
    assert not list(home.iterdir())


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
