"""The switches of an appliance: what may be typed, what is asked first, and what is said where nothing can be."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from textual.events import Paste
from textual.pilot import Pilot

import synth
from helpers import at_rest, present, until
from linkladder.app import input_checks
from linkladder.app.backend import Setting
from linkladder.app.main import LadderApp
from linkladder.app.screens.reading import settings_page
from linkladder.app.screens.system import SystemScreen, ssh_words
from linkladder.errors import EnvironmentFault
from linkladder.host.disks import Disk, Part
from linkladder.host.switches import Appliance
from linkladder.settings.overview import OnLoan
from linkladder.upgrade import Manifest
from linkladder.upgrading import Progress
from replay_backend import ReplayBackend

KEY = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))).decode()
CONSOLE = (80, 25)


@pytest.mark.parametrize(
    ("method", "address", "router", "right"),
    [
        ("dhcp", "", "", True), ("none", "rubbish", "rubbish", True), ("static", "10.1.0.2/24", "", True),
        ("static", "10.1.0.2/24", "10.1.0.1", True), ("static", "2001:db8::2/64", "2001:db8::1", True),
        ("static", "10.1.0.0/31", "10.1.0.1", True), ("static", "10.1.0.2", "", False),
        ("static", "10.1.0.0/24", "", False), ("static", "10.1.0.255/24", "", False),
        ("static", "10.1.0.2/33", "", False),
        ("static", "224.0.0.1/24", "", False), ("static", "0.0.0.0/8", "", False), ("static", "alpha/24", "", False),
        ("static", "10.1.0.2/24", "10.2.0.1", False), ("static", "10.1.0.2/24", "10.1.0.2", False),
        ("static", "10.1.0.2/24", "fe80::1", False), ("static", "", "", False),
    ],
)  # fmt: skip
def test_addresses(method: str, address: str, router: str, right: bool) -> None:
    assert (input_checks.wrong_address(method, address, router) == "") is right


@pytest.mark.parametrize(
    ("text", "right"),
    [("Europe/Prague", True), ("UTC", True), ("", False), ("Prag", False), ("../etc/passwd", False), ("Europe", False)],
)
def test_time_zones(text: str, right: bool) -> None:
    assert (input_checks.wrong_zone(text) == "") is right


def test_a_zone_half_right_is_helped_with() -> None:
    assert "Europe/Prague" in input_checks.wrong_zone("prague")
    assert "America/New_York" in input_checks.wrong_zone("new york")


def test_keys_are_taken_as_the_file_has_them() -> None:
    assert input_checks.key_words(f" ssh-ed25519 {KEY} me@desk two \n") == ("ssh-ed25519", KEY, "me@desk_two")
    assert input_checks.key_words(f"ssh-ed25519 {KEY}")[2] == "operator"
    assert input_checks.key_words(f"ssh-ed25519 {KEY} --mé;x")[2] == "m__x"
    for bad in ("", KEY, f"ssh-dss {KEY}", f"ssh-rsa {KEY}", f"ssh-ed25519 {KEY[:-9]}"):
        assert input_checks.wrong_key(bad), bad
    assert "private key" in input_checks.wrong_key("-----BEGIN OPENSSH PRIVATE KEY-----")


def test_passwords() -> None:
    assert input_checks.wrong_password("correct horse", "correct horse") == ""
    assert "same" in input_checks.wrong_password("correct horse", "correct house")
    for bad in ("short", "x" * 129, "pässword!", ""):
        assert input_checks.wrong_password(bad, bad)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (Appliance(ssh=None), "as the system's owner has set it"),
        (Appliance(ssh=False), "off; neither key nor password was given"),
        (Appliance(ssh=False, keys=2, password=True), "off; 2 keys and a password kept"),
        (Appliance(ssh=True, keys=1), "on, for admin, by 1 key"),
        (Appliance(ssh=True), "on, for admin, by nobody: no key and no password"),
    ],
)
def test_ssh_in_words(state: Appliance, words: str) -> None:
    assert ssh_words(state) == words


@contextlib.asynccontextmanager
async def system_screen(backend: ReplayBackend) -> AsyncIterator[Pilot[Any]]:
    app = LadderApp(backend)
    async with app.run_test(size=CONSOLE) as pilot:
        await until(pilot, "Quit")
        app.push_screen(SystemScreen())
        await until(pilot, "records are in UTC")
        yield pilot


async def test_a_fixed_address_is_checked_then_asked_then_set() -> None:
    backend = synth.settled()
    async with system_screen(backend) as pilot:
        await pilot.press("down", "enter")
        await until(pilot, "written with its prefix")
        await pilot.press("enter", "right", "enter", *"10.7.0.9", "enter", "enter", "enter")
        await until(pilot, "! Write the address with its prefix")
        await pilot.press("tab", "tab", *"10.7.0.9/24", "enter", *"10.7.0.1", "enter", "enter")
        asked = await until(pilot, "vmx0 gets 10.7.0.9/24")
        assert "10.7.0.1 becomes the default router" in " ".join(re.sub("[^ -~]", " ", asked).split())
        await pilot.press("enter")  # the safe answer has the focus
        await at_rest(pilot)
        assert backend.system_calls == []


async def test_ssh_password_never_shows_and_never_is_an_argument() -> None:
    backend = synth.settled()
    async with system_screen(backend) as pilot:
        await pilot.press("down", "down", "down", "enter")
        assert "< set a password >" in await until(pilot, "neither key nor password")
        await pilot.press("enter", "enter")
        await until(pilot, "at least eight letters")
        await pilot.press(*"correct", "space", *"horse", "enter", *"correct", "space", *"horse", "enter")
        assert "horse" not in await until(pilot, "Once more")
        await pilot.press("enter")
        await until(pilot, "The password is set")
        assert backend.system_calls == [("ssh", "password", "correct horse\n")]


async def test_another_kernel_for_one_boot() -> None:
    backend = synth.settled()
    backend.switches = Appliance(kernel="kernel", kernels=("kernel", "kernel.GENERIC"), ssh=False)
    async with system_screen(backend) as pilot:
        await pilot.press(*["down"] * 4, "enter")
        await until(pilot, "< kernel.GENERIC >")
        await pilot.press("enter", "enter")
        await until(pilot, "Start anew now?")
        assert backend.system_calls == [("kernel", "kernel.GENERIC")]
        await pilot.press("left", "enter")
        await until(pilot, "Done: reboot")
        assert backend.system_calls[1:] == [("reboot",)]


async def test_power_is_asked_for_with_no_as_the_answer() -> None:
    backend = synth.settled()
    async with system_screen(backend) as pilot:
        await pilot.press("end", "enter")
        await until(pilot, "Power off now?")
        await pilot.press("enter")
        await until(pilot, "Shut down")
        assert backend.system_calls == []


async def test_where_nothing_can_be_changed_that_is_said_before_a_form_is_filled() -> None:
    backend = synth.settled()
    backend.switches = Appliance("this is Linux, which its owner sets up; only an appliance changes these", "Etc/UTC")
    async with system_screen(backend) as pilot:
        await until(pilot, "Nothing below can be changed: this is Linux")
        for _ in range(2):
            await pilot.press("enter")
            await until(pilot, "not on this machine")
            await pilot.press("enter", "down")
        assert backend.system_calls == []


DOWN, YES = ("down",), ("left", "enter")  # the safe answer has the focus
ADDRESS, ZONE, ACCESS = (*DOWN, "enter"), (*DOWN * 2, "enter"), (*DOWN * 3, "enter")
NEXT = ("enter",)
SHUT, READY = Appliance(zone="Etc/UTC", ssh=False), Appliance(zone="Etc/UTC", ssh=False, keys=1)
OPEN = Appliance(zone="Etc/UTC", ssh=True, keys=1, password=True)


Steps = list[tuple[str | tuple[str, ...], str]]
CHANGES: dict[str, tuple[Appliance, Steps, tuple[str, ...]]] = {
    "zone": (SHUT, [(ZONE, "A city or a zone"), ("Europe/Prague", "The clock shows the time of Europe/Prague")],
             ("timezone", "Europe/Prague")),
    "key": (SHUT, [(ACCESS, "< set a password >"), (("left",), "< add a public key >"), (NEXT * 2, "one line as in"),
                   (f"ssh-ed25519 {KEY} me", "[ Take it ]"), (NEXT, "The key is kept")],
            ("ssh", "key", "ssh-ed25519", KEY, "me")),
    "on": (READY, [(ACCESS, "< switch on >"), (NEXT * 2, "admin comes in on port 22")], ("ssh", "on")),
    "off": (OPEN, [(ACCESS, "< switch off >"), (NEXT * 2, "ssh is off; keys and password are kept")], ("ssh", "off")),
    "forget": (OPEN, [(ACCESS, "< switch off >"), (("right",), "< switch off, and forget"), (NEXT * 2, "Forget keys"),
                      (YES, "ssh is off, and nobody is known")], ("ssh", "forget")),
    "dhcp": (SHUT, [(ADDRESS, "by DHCP"), (NEXT * 5, "vmx0 gets DHCP"), (YES, "vmx0 has DHCP now")],
             ("address", "vmx0", "dhcp")),
    "none": (SHUT, [(ADDRESS, "< vmx0, "), (("right",), "< vmx1, "), (NEXT, "by DHCP"), (("left",), "< none >"),
                    (NEXT * 4, "vmx1 gets no address"), (YES, "vmx1 has no address now")], ("address", "vmx1", "none")),
    "fixed": (SHUT, [(ADDRESS, "by DHCP"), (("enter", "right"), "< fixed >"), (NEXT, "Router"),
                     ("10.7.0.9/24", "10.7.0.9/24"), ("10.7.0.1", "10.7.0.1 "), (NEXT, "vmx0 gets 10.7.0.9/24"),
                     (YES, "vmx0 has 10.7.0.9/24 now")], ("address", "vmx0", "static", "10.7.0.9/24", "10.7.0.1")),
    "shutdown": (SHUT, [(("end", "enter"), "Power off now?"), (YES, "Done: shutdown")], ("shutdown",)),
}  # fmt: skip


async def test_what_is_asked_of_the_helper() -> None:
    """One application for all, each on a screen of its own; text is pasted, as a key is."""
    backend = synth.settled()
    async with system_screen(backend) as pilot:
        for name, (state, steps, called) in CHANGES.items():
            pilot.app.pop_screen()
            backend.switches = state
            backend.system_calls.clear()
            pilot.app.push_screen(SystemScreen())
            await until(pilot, f"ssh {ssh_words(state)}")
            for keys, words in steps:
                assert backend.system_calls == [], f"{name}: nothing is done before the last answer"
                if isinstance(keys, str):
                    present(pilot.app.screen.focused).post_message(Paste(keys))
                    keys = NEXT
                await pilot.press(*keys)
                await until(pilot, words)
            assert backend.system_calls == [called], name


async def test_ssh_is_not_switched_on_for_nobody() -> None:
    """Before there is a key or a password the form offers to give one, and nothing else."""
    async with system_screen(synth.settled()) as pilot:
        await pilot.press(*ACCESS)
        offered = []
        for _ in range(5):
            offered.append(present(re.search(r"< (.+) >", await until(pilot, "neither key nor password")))[1])
            await pilot.press("right")
        assert set(offered) == {"add a public key", "set a password"}


async def test_what_the_helper_refuses_is_told() -> None:
    backend = synth.settled()

    async def refuses(verb: str, *words: str, said: str = "") -> str:
        raise EnvironmentFault(f"{verb} was not done", "zone: there is none of the name UTC")

    backend.system = refuses
    async with system_screen(backend) as pilot:
        await pilot.press("down", "down", "enter")
        await until(pilot, "A city or a zone")
        await pilot.press(*"UTC", "enter")
        await until(pilot, "Timezone was not done")


def test_settings_say_why_they_are_not_in_force() -> None:
    rows = (
        Setting("kern.ipc.maxsockbuf", "67108864", "67108864", True, "", "largest socket buffer"),
        Setting("net.isr.maxthreads", "-1", "1", False, "refused: 1 is in force", "a thread for every core"),
        Setting("dev.ix.*.fc", "0", "", None, "not on this NIC", "flow control"),
        Setting("vmx0 tso", "", "on", None, "as the driver has it"),
    )
    text = settings_page(rows).plain
    assert text.startswith("1 of 3 settings are not in force.")
    assert "  refused: 1 is in force; a thread for every core" in text.splitlines()
    assert "  not on this NIC; flow control" in text.splitlines()
    assert "largest socket buffer" not in text
    assert max(map(len, text.splitlines())) < 80
    assert "no appliance" in settings_page(rows[-1:]).plain


async def test_a_live_medium_is_installed_after_two_questions_that_name_what_is_lost() -> None:
    backend = synth.settled()
    parts = (Part("efi", 33554432), Part("freebsd-ufs", 3 << 30, "linkladder"))
    backend.drives = (Disk("da0", 8 << 30, used=True), Disk("ada1", 40 << 30, "QEMU HARDDISK", parts))
    async with system_screen(backend) as pilot:
        await until(pilot, "put this system onto a disk")
        for answers in ((), ("left",)):  # the safe answer first, then both of the other ones
            await pilot.press("end", "enter")
            assert "da0" not in await until(pilot, "< ada1 >")
            await pilot.press("enter", "enter")
            for question in ("Erase ada1?", "Really erase ada1?"):
                shown = " ".join((await until(pilot, question)).replace("|", " ").split())
                assert "ada1, 40.0 GB, QEMU HARDDISK" in shown and "freebsd-ufs 3.00 GB (linkladder)" in shown
                assert backend.system_calls == []
                await pilot.press(*answers, "enter")
                if not answers:
                    break
        await until(pilot, "Installed. Start anew now?")
        assert backend.system_calls == [("install", "ada1")]


async def test_an_installation_under_way_is_not_left() -> None:
    backend = synth.settled()
    backend.drives = (Disk("ada1", 40 << 30),)
    going = asyncio.Event()

    async def slow(verb: str, *words: str, said: str = "") -> str:
        await going.wait()
        raise EnvironmentFault(f"{verb} was not done", "bsdinstall did not end well")

    backend.system = slow
    async with system_screen(backend) as pilot:
        await until(pilot, "put this system onto a disk")
        await pilot.press("end", "enter", "enter", "enter")
        await until(pilot, "Erase ada1?")
        await pilot.press("left", "enter")
        await until(pilot, "Really erase ada1?")
        await pilot.press("left", "enter")
        await until(pilot, "Installing onto ada1, 40.0 GB")
        await pilot.press("escape")
        await until(pilot, "half an installation would not start")
        await until(pilot, "Installing onto ada1, 40.0 GB")
        going.set()
        await until(pilot, "bsdinstall did not end well")


UPDATE = ("down",) * 6
Agreed = Callable[[Manifest], Awaitable[bool]]


async def test_an_update_is_verified_asked_about_written_and_started() -> None:
    backend = synth.settled()
    async with system_screen(backend) as pilot:
        for answers in (("enter",), ("left", "enter")):  # the safe answer first: nothing is written
            await pilot.press("home", *UPDATE, "enter")
            await until(pilot, "0.1.0 runs and is kept.")
            await pilot.press("enter")
            shown = " ".join((await until(pilot, "Write this system?")).replace("|", " ").split())
            assert "Version 9.0.0, built 2026-11-22 12:00, in place of" in shown
            await pilot.press(*answers)
        await until(pilot, "Start it now?")
        await pilot.press("left", "enter")
        await until(pilot, "Done: reboot")
        assert backend.system_calls == [("upgrade", "stick"), ("upgrade", "stick"), ("reboot",)]


async def test_an_update_shows_how_far_it_is_and_cannot_be_left_half_way() -> None:
    backend = synth.settled()
    going = asyncio.Event()

    async def slow(source: str, told: Progress, agreed: Agreed) -> str:
        assert await agreed(backend.offered)
        while not going.is_set():
            told("writing", 42, 100, 58.0)
            await asyncio.sleep(0.05)
        raise EnvironmentFault("the upgrade was not written", "the disk does not give back what was written")

    backend.upgrade = slow
    async with system_screen(backend) as pilot:
        await pilot.press(*UPDATE, "enter")
        await until(pilot, 'Type "stick"')
        await pilot.press("enter")
        await until(pilot, "Write this system?")
        await pilot.press("left", "enter")
        await until(pilot, "writing 42 %, 1 min 20 s to go")
        await pilot.press("escape")
        await until(pilot, "It goes on: leave the machine on")
        going.set()
        await until(pilot, "does not give back what was written")


async def test_an_update_that_is_refused_says_why_and_one_that_looks_can_be_left() -> None:
    backend = synth.settled()
    waiting = asyncio.Event()

    async def looks(source: str, told: Progress, agreed: Agreed) -> str:
        waiting.set()
        await asyncio.Event().wait()
        return ""

    backend.upgrade = looks
    async with system_screen(backend) as pilot:
        await pilot.press(*UPDATE, "enter")
        await until(pilot, 'Type "stick"')
        await pilot.press("enter")
        await waiting.wait()
        await pilot.press("escape")
        await until(pilot, "a new system by a signed file")

        async def refuses(source: str, told: Progress, agreed: Agreed) -> str:
            raise EnvironmentFault("the upgrade file is not signed for this system")

        backend.upgrade = refuses
        await pilot.press("enter")
        await until(pilot, 'Type "stick"')
        await pilot.press("enter")
        await until(pilot, "The upgrade file is not signed for this system")


async def test_settings_that_an_experiment_left_are_accepted_by_a_person() -> None:
    backend = synth.settled()
    async with system_screen(backend) as pilot:
        assert "take them as they are" not in await until(pilot, "Shut down")
    backend.lent = OnLoan(("mtu vmx1: 1500 -> 9000",), left_behind=True, failed="vmx1 is not there")
    async with system_screen(backend) as pilot:
        await until(pilot, "take them as they are")
        for answers in ((), ("left",)):  # the safe answer first
            assert backend.system_calls == []
            await pilot.press("end", "enter")
            shown = " ".join((await until(pilot, "Are these right as they are?")).replace("|", " ").split())
            assert "vmx1 is not there" in shown
            backend.lent = None if answers else backend.lent
            await pilot.press(*answers, "enter")
            await until(pilot, "take them as they are" if not answers else "They are taken as they are.")
        assert backend.system_calls == [("accept-settings",)]
        while "take them as they are" in await until(pilot, "Shut down"):
            await pilot.pause(0.1)
