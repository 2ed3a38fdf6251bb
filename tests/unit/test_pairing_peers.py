"""The list of peers, key files and what OpenSSH is told."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import cli, damage
from linkladder.errors import EnvironmentFault, LinkladderError, UsageError
from linkladder.report import signing
from linkladder.trust import channel, files, keys, peers, sshd
from linkladder.trust.peers import Peer
from pairing_ends import a_key


def a_peer(name: str = "beta", **more: object) -> Peer:
    return replace(Peer(name, ("10.0.0.2",), a_key(), a_key()), **more)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_key_files_are_their_owners_alone(own_state: Path) -> None:
    keys.host_key()
    keys.user_key()
    peers.add(a_peer())
    peers.ssh_command(peers.find("beta"))
    secret = [p for p in own_state.rglob("*") if p.is_file() and p.suffix != ".pub"]
    assert len(secret) >= 6 and {mode(p) for p in secret} == {0o600}
    assert {mode(p) for p in own_state.rglob("*") if p.is_dir()} == {0o700}


OPEN = [("keys/host_ed25519", 0o644), ("keys/user_ed25519", 0o640), ("keys", 0o755), ("keys/known_beta", 0o604),
        ("peers.json", 0o644), (".", 0o711), ("sshd/authorized_keys", 0o666), ("sshd", 0o750)]  # fmt: skip


@pytest.mark.parametrize(("what", "mode"), OPEN, ids=[what for what, _ in OPEN])
def test_linkladder_does_not_start_on_open_files(
    own_state: Path, what: str, mode: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command, the console and the agent: what is run is the command line itself."""
    keys.host_key()
    keys.user_key()
    peers.add(a_peer())
    peers.ssh_command(peers.find("beta"))
    before = stat.S_IMODE((own_state / what).stat().st_mode)
    monkeypatch.setattr(cli, "_console", lambda args: pytest.fail("the console started"))
    words = {"ends": COMMANDS[:2], "all": COMMANDS}["all" if what == "keys/host_ed25519" else "ends"]
    (own_state / what).chmod(mode)
    try:
        for argv in words:
            assert cli.main(list(argv)) == 3, argv
            said = capsys.readouterr()
            assert f"is open to others (mode {mode:04o})" in said.err and f"chmod {before:o} " in said.err, argv
            assert not said.out
    finally:
        (own_state / what).chmod(before)
    files.check_state(own_state)


COMMANDS = (("peers",), ("agent", "--peer", "beta"), (), ("run",), ("runs",), ("show", "last"), ("plan", "show", "x"),
            ("facts",), ("doctor",), ("ceiling", "--rate", "1G"), ("report", "last"), ("pair", "--open"),
            ("pair", "192.0.2.1"), ("peers", "remove", "beta"), ("judge", "x.json"), ("keep", "x.json"),
            ("parse", "iperf2", "x"), *((name,) for name in cli.GROUPS["linkladder.commands.measuring"]))  # fmt: skip


def test_every_command_is_among_those_tried() -> None:
    """But for two that would change the machine or need a file first; there is one start for all."""
    every = {name for names in cli.GROUPS.values() for name in names}
    assert every - {argv[0] for argv in COMMANDS if argv} <= {"verify", "system"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a moment")
def test_files_of_another_user_are_refused_in_words(own_state: Path) -> None:
    keys.host_key()
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(write, 2)
        sys.stderr = os.fdopen(2, "w")
        os.setuid(4242)
        code = cli.main([])
        sys.stderr.flush()
        os._exit(code)
    os.close(write)
    with os.fdopen(read) as said:
        text = said.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert "not this user's" in text and "LINKLADDER_STATE" in text


def test_keys_are_made_once_and_sign(own_state: Path) -> None:
    key = keys.user_key()
    first = key.read_bytes()
    assert keys.user_key().read_bytes() == first and keys.well_formed(keys.public(key))
    signature = keys.sign(b"words", key)
    assert keys.signed(b"words", signature, keys.public(key))
    assert not keys.signed(b"others", signature, keys.public(key))
    assert not keys.signed(b"words", signature, a_key())
    assert not keys.signed(b"words", signature, keys.public(key), "linkladder-report"), "what pairs signs no report"
    assert signing.fingerprint(key) == keys.fingerprint(keys.public(key)) != ""
    checked = signing.check("words", signature, {keys.public(key): "beta"})
    assert not checked.fits and signing.check("words", signing.sign("words", key), {keys.public(key): "beta"}).valid


def test_a_key_half_made_is_made_anew(own_state: Path) -> None:
    keys.folder()
    (own_state / "keys" / "host_ed25519").write_text("cut off")
    (own_state / "keys" / "host_ed25519").chmod(0o600)
    assert keys.well_formed(keys.public(keys.host_key()))


def test_thirty_two_peers(own_state: Path) -> None:
    for number in range(32):
        peers.pin(a_peer(f"p{number}"))
    assert len(peers.load()) == 32
    assert len((own_state / "sshd" / "authorized_keys").read_text().splitlines()) == 32
    assert not list(own_state.glob(".peers*"))


def test_the_same_appliance_is_replaced_and_its_namesake_told_apart() -> None:
    first, second = a_peer("beta"), a_peer("beta")
    assert peers.pin(first).name == "beta"
    assert peers.pin(second).name == "beta-2"
    assert peers.pin(replace(first, user_key=a_key(), addresses=("10.0.0.9",))).name == "beta"
    assert {p.name for p in peers.load()} == {"beta", "beta-2"}
    assert peers.find("beta").addresses == ("10.0.0.9",)
    assert peers.pin(a_peer("alpha"), own_name="alpha").name == "alpha-2"


def test_no_key_stands_under_two_names() -> None:
    """sshd takes the first line with a key: under a second name a peer could not be removed."""
    one = peers.pin(a_peer("beta"))
    anew = peers.pin(a_peer("gamma", user_key=one.user_key))
    assert [p.name for p in peers.load()] == ["beta"] == [anew.name] and peers.find("beta").host_key != one.host_key
    other = peers.pin(a_peer("delta"))
    with pytest.raises(UsageError, match="delta's already"):
        peers.add(replace(other, name="twin", host_key=a_key()))


def test_rename_keeps_the_keys_and_clashes_are_refused() -> None:
    one = peers.pin(a_peer("beta"))
    peers.pin(a_peer("gamma"))
    peers.rename("beta", "far")
    assert peers.find("far").host_key == one.host_key
    with pytest.raises(UsageError):
        peers.rename("far", "gamma")
    with pytest.raises(UsageError):
        peers.rename("far", "a b")
    with pytest.raises(EnvironmentFault) as seen:
        peers.remove("beta")
    assert "far" in seen.value.cause


@pytest.mark.parametrize(
    "change",
    [{"name": "a b"}, {"name": "-x"}, {"name": 'x"'}, {"name": "x\n"}, {"port": 0}, {"port": 65536},
     {"addresses": ("-oProxyCommand=x",)}, {"addresses": ("a b",)}, {"user": "-l"}, {"user": "root x"},
     {"host_key": "ssh-rsa AAAA"}, {"user_key": a_key() + "\nssh-ed25519 x"}, {"user_key": 'command="x" ' + a_key()}],
)  # fmt: skip
def test_hostile_values_never_reach_opensshs_files(own_state: Path, change: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        peers.add(a_peer(**change))
    assert not (own_state / "peers.json").exists()


def test_ssh_reads_nothing_of_the_users() -> None:
    argv = peers.ssh_command(peers.pin(a_peer()))
    shown = subprocess.run([argv[0], "-G", *argv[1:]], capture_output=True, text=True, check=True).stdout.lower()
    for line in ("batchmode yes", "stricthostkeychecking true", "hostkeyalias linkladder-beta", "identitiesonly yes",
                 "passwordauthentication no", "forwardagent no", "controlmaster false", "serveraliveinterval 5",
                 "globalknownhostsfile /dev/null", "hostkeyalgorithms ssh-ed25519", "requesttty false"):  # fmt: skip
        assert line in shown, line
    assert argv[-3:] == ["--", "10.0.0.2", "agent"]


@pytest.mark.parametrize(
    ("text", "title", "hint"),
    [("@ REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", "another key", "sits in between"),
     ("ssh: connect to host 10.0.0.2 port 8622: Connection refused", "nothing listens", "running"),
     ("ssh: connect to host 10.0.0.2 port 8622: Connection timed out", "does not answer", "firewall"),
     ("ssh: connect to host 10.0.0.2 port 8622: No route to host", "no route", "routes"),
     ("a@10.0.0.2: Permission denied (publickey).", "does not know this appliance", "pair"),
     ("linkladder: /k is open to others (mode 0644)\n  why: keys must be private\n  do:  chmod 600 /k; or so",
      "the peer says: /k is open to others", "at the peer: chmod 600 /k"),
     ("linkladder: a\x1b[2Jb", "the peer says: a[2Jb", "its log"),
     ("something else", "channel to the peer failed", "doctor")],
)  # fmt: skip
def test_what_ssh_says_is_told_in_plain_words(text: str, title: str, hint: str) -> None:
    seen = channel.explain_ssh_failure(text, 255)
    assert title in seen.title and hint in seen.hint


def test_a_state_folder_with_odd_letters_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / 'it\'s "odd" $HOME'
    odd.mkdir(mode=0o700)
    monkeypatch.setenv("LINKLADDER_STATE", str(odd))
    peers.pin(a_peer())
    line = (odd / "sshd" / "authorized_keys").read_text()
    command = line.split('command="', 1)[1].split('" ssh-ed25519', 1)[0].replace('\\"', '"')
    words = ["sh", "-c", command.replace(sys.executable, "printenv LINKLADDER_STATE #")]
    shown = subprocess.run(words, capture_output=True, text=True, check=False)
    assert shown.stdout.rstrip("\n") == str(odd), shown


AGENT = """
import sys, time
from linkladder.trust.sshd import register_session
with register_session(sys.argv[1]):
    print("up", flush=True)
    time.sleep(60)
"""


def test_removing_a_peer_ends_its_sessions_at_once(own_state: Path) -> None:
    peers.pin(a_peer("beta"))
    peers.pin(a_peer("beta.1"))
    running = {}
    for name in ("beta", "beta.1"):
        running[name] = subprocess.Popen([sys.executable, "-c", AGENT, name], stdout=subprocess.PIPE)
        assert running[name].stdout.readline() == b"up\n"  # type: ignore[union-attr]
    peers.remove("beta")
    assert running["beta"].wait(30) == -signal.SIGTERM, "of the 60 s that it would go on"
    assert running["beta.1"].poll() is None
    assert "--peer beta " not in (own_state / "sshd" / "authorized_keys").read_text()
    late = subprocess.run([sys.executable, "-c", AGENT, "beta"], capture_output=True, text=True, check=False)
    assert late.returncode and "not paired" in late.stderr
    running["beta.1"].kill()
    running["beta.1"].wait()
    assert sshd.end_sessions("beta.1") == 0 and not list((own_state / "run" / "agents").iterdir())


def test_a_session_that_ignores_the_signal_is_killed(own_state: Path) -> None:
    peers.pin(a_peer("beta"))
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)" + AGENT
    one = subprocess.Popen([sys.executable, "-c", deaf, "beta"], stdout=subprocess.PIPE)
    assert one.stdout and one.stdout.readline() == b"up\n"
    assert sshd.end_sessions("beta", grace=0.2) == 1
    assert one.wait(30) == -signal.SIGKILL, "of the 60 s that it would go on"


def test_a_number_used_again_is_not_killed(own_state: Path) -> None:
    """A file left by a crash names a process that is somebody else's by now."""
    peers.pin(a_peer("beta"))
    other = subprocess.Popen(["sleep", "30"])
    folder = own_state / "run" / "agents"
    folder.mkdir(parents=True, mode=0o700)
    (folder / f"beta.{other.pid}").touch()
    assert sshd.end_sessions("beta") == 0 and other.poll() is None
    other.kill()
    other.wait()


def test_power_cut_while_writing_leaves_the_old_list(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peers.pin(a_peer("beta"))
    before = (own_state / "peers.json").read_bytes()
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError("cut")))
    with pytest.raises(OSError, match="cut"):
        peers.pin(a_peer("gamma"))
    assert (own_state / "peers.json").read_bytes() == before


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_removed_peer_has_no_access_by_a_list_that_a_crash_left_behind(
    own_state: Path, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    peers.pin(a_peer("beta"))
    peers.pin(a_peer("gamma"))
    really, writes = files.write, []

    def write(path: Path, text: str, mode: int = 0o600) -> None:
        writes.append(path)
        if len(writes) == cut:
            raise OSError("cut")
        really(path, text, mode)

    monkeypatch.setattr(files, "write", write)
    with pytest.raises(OSError, match="cut"):
        peers.remove("beta")
    listed = {p.name for p in peers.load()}
    granted = {line.split()[-1] for line in (own_state / "sshd" / "authorized_keys").read_text().splitlines()}
    assert "gamma" in granted and granted <= listed


def test_the_control_sshd_accepts_its_configuration(own_state: Path) -> None:
    config = sshd.ensure_config(own_state, "nobody", ("127.0.0.1", "::1"), 18622)
    try:
        done = subprocess.run([sshd.program(), "-T", "-f", str(config)], capture_output=True, text=True, check=False)
    except OSError:
        pytest.skip("no sshd here")
    if "privilege separation directory" in done.stderr:
        pytest.skip("sshd's own folder is not there: " + done.stderr.strip())
    shown = done.stdout.lower()
    assert done.returncode == 0, done.stderr
    for line in ("passwordauthentication no", "kbdinteractiveauthentication no", "permittty no", "maxauthtries 2",
                 "disableforwarding yes", "permitrootlogin no", "allowusers nobody", "permituserenvironment no",
                 "pubkeyacceptedalgorithms ssh-ed25519"):  # fmt: skip
        assert line in shown, line
    assert "persourcemaxstartups 8" in shown or sshd.leaks_startups(sshd._version())
    assert sshd.control(own_state) == ("nobody", 18622)


FAKE = """#!/bin/sh
# an sshd (or, with -Q, an ssh) of a certain age: it complains of what it does not know
[ "$1" = -Q ] && {{ printf '%s\\n' {kex}; exit 0; }}
for word in {unknown}; do
    grep -q "^$word " "$3" && {{ echo "$3: line 7: Bad configuration option: $word" >&2; bad=1; }}
done
[ -z "$bad" ]
"""
OLD = ("curve25519-sha256", "curve25519-sha256@libssh.org", "diffie-hellman-group14-sha256")
AGES = [
    ("8.4", ("PerSourceMaxStartups", "PerSourceNetBlockSize", "PerSourcePenalties"), OLD),
    ("9.2", ("PerSourcePenalties",), (*OLD, "sntrup761x25519-sha512@openssh.com")),
    ("10.0", (), (*OLD, "sntrup761x25519-sha512", "sntrup761x25519-sha512@openssh.com", "mlkem768x25519-sha256")),
]


@pytest.mark.parametrize(("age", "unknown", "kex"), AGES, ids=[age for age, _, _ in AGES])
def test_each_openssh_gets_what_it_knows(
    own_state: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    age: str,
    unknown: tuple[str, ...],
    kex: tuple[str, ...],
) -> None:
    fake = tmp_path / f"sshd-{age}"
    fake.write_text(FAKE.format(kex=" ".join(kex), unknown=" ".join(unknown) or "Nothing"))
    fake.chmod(0o755)
    monkeypatch.setattr(sshd, "program", lambda: str(fake))
    monkeypatch.setattr(sshd, "exchanges", lambda: channel.exchanges(str(fake)))
    text = sshd.ensure_config(own_state, "nobody", ("127.0.0.1",), 18622).read_text()
    for option in ("PerSourceMaxStartups", "PerSourceNetBlockSize", "PerSourcePenalties"):
        assert (f"\n{option} " in text) is (option not in unknown), option
    offered = next(line for line in text.splitlines() if line.startswith("KexAlgorithms ")).split()[1].split(",")
    assert offered == [e for e in channel.EXCHANGES if e in kex] and "diffie-hellman" not in text
    assert ("mlkem768x25519-sha256" in offered) is (age == "10.0")


def test_a_peer_that_crashed_is_not_shut_out() -> None:
    """OpenSSH counts penalties up and shuts out above `min`; no single mishap may get there, and none for long."""
    line = next(o for o in sshd.OPTIONAL if o.startswith("PerSourcePenalties"))
    seconds = {w.split(":")[0]: int(w.split(":")[1].rstrip("s")) for w in line.split()[1:]}
    assert all(seconds[what] < seconds["min"] for what in ("crash", "authfail", "noauth", "grace-exceeded"))
    assert seconds["max"] <= 30


def test_without_ssh_there_is_still_a_list() -> None:
    assert channel.exchanges("/nonexistent/ssh") == "curve25519-sha256"


def test_a_broken_list_trusts_nobody_and_is_told(own_state: Path) -> None:
    known = peers.pin(a_peer())
    (own_state / "peers.json").write_text("[{]")
    assert peers.load() == ()
    assert known.user_key not in (own_state / "sshd" / "authorized_keys").read_text(), "nor lets sshd in who was on it"
    assert ["pair with each of them again" in one.why for one in damage.found(own_state)] == [True]


def test_a_broken_list_that_cannot_be_set_aside_is_an_error(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    (own_state / "peers.json").write_text("[{]")
    (own_state / "peers.json").chmod(0o600)
    monkeypatch.setattr(damage, "set_aside", refuse)
    with pytest.raises(LinkladderError) as seen:
        peers.load()
    assert "damaged" in seen.value.title
