"""Cards as one bundle on loan: what the helper does and undoes to a pretended FreeBSD, and who is refused why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from linkladder import host, phrases, settings
from linkladder import plan as plans
from linkladder.agent.lending import Lending
from linkladder.engine.command_lines import planned
from linkladder.engine.left_out import without_effect
from linkladder.judge import at_lent_mtu
from linkladder.model import Contract, End, HostFacts, Nic, Setting, SettingKind
from linkladder.model import Path as Way
from linkladder.plan import company
from linkladder.priv import appliance, card_state, lagg, verbs
from linkladder.priv.checks import Refused
from linkladder.priv.running import Failed
from linkladder.settings.reversible import request
from linkladder.tools import ToolVersions
from linkladder.wire import Refused as Declined
from linkladder.wire import TakeLease
from two_cards import PATHS

# As ifconfig of 15.1 shows vmxnet3 when it is asked for prefixes.
VMX2 = """vmx2: flags=1008843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST,LOWER_UP> metric 0 mtu 4000
\toptions=4e406bb<RXCSUM,TXCSUM,VLAN_MTU,VLAN_HWTAGGING,JUMBO_MTU,VLAN_HWCSUM,TSO6,LRO,VLAN_HWTSO,RXCSUM_IPV6,TXCSUM_IPV6,HWSTATS,MEXTPG>
\tether 52:54:00:1b:01:02
\tinet 10.77.2.1/24 broadcast 10.77.2.255
\tinet6 fe80::5054:ff:fe1b:102%vmx2/64 scopeid 0x3
\tmedia: Ethernet autoselect
\tstatus: active
"""
ALL = tuple(card_state.OFFLOADS.values())
CARDS = {
    "vmx1": card_state.Card("vmx1", "52:54:00:1b:01:01", 1500, True, ALL, ("10.77.1.1/24", "fe80::1/64")),
    "vmx2": card_state.Card("vmx2", "52:54:00:1b:01:02", 4000, True, ("tso6", "lro"), ("10.77.2.1/24", "fe80::2/64")),
    "vmx3": card_state.Card("vmx3", "52:54:00:1b:01:03", 1500, False, ALL, ("10.77.3.1/24",)),
}


class System:
    """Does to cards what lagg was seen to do: leaving gives back the MAC and offloads, and switches the card off."""

    def __init__(self) -> None:
        self.cards = dict(CARDS)
        self.bundle: list[str] = []
        self.before: dict[str, card_state.Card] = {}
        self.there = False
        self.guest, self.routes, self.bridges = "none", "", ""
        self.boot, self.booted = "Format: Length:16 Dump:0x11", "{ sec = 1, usec = 2 }"
        self.addresses: set[str] = set()
        self.dies_at = -1
        self.stubborn = ""
        self.done: list[str] = []

    def capture(self, argv: list[str]) -> str:
        words = argv[1:]
        if words == ["-l"]:
            return " ".join([*self.cards, "lo0", *(["lagg0"] if self.there else [])])
        if words == ["-a"]:
            return self.bridges
        if words[:1] == ["-f"]:
            return self.shown(self.cards[words[2]]) if words[2] in self.cards else ""
        if words == ["-rnW"]:
            return self.routes
        return {"kern.vm_guest": self.guest, "kern.boot_id": self.boot, "kern.boottime": self.booted}[words[-1]]

    @staticmethod
    def shown(card: card_state.Card) -> str:
        on = ",".join(theirs for theirs, ours in card_state.OFFLOADS.items() if ours in card.offloads)
        lines = [f"{card.name}: flags=1<{'UP,' if card.up else ''}BROADCAST> metric 0 mtu {card.mtu}"]
        lines += [f"\toptions=1<{on}>", f"\tether {card.mac}"]
        lines += [f"\tinet{'6' if ':' in a else ''} {a.replace('/', '%x/') if ':' in a else a}" for a in card.addresses]
        return "\n".join(lines)

    def run(self, argv: list[str], watch_caller: bool = True) -> None:
        if watch_caller and len(self.done) == self.dies_at:
            raise KeyboardInterrupt  # as if killed here
        self.done.append(" ".join(argv[1:]))
        name, *words = argv[1:]
        if name == "lagg0":
            self._bundle(words)
            return
        card = self.cards[name]
        if words[0] == "up" or words[0] == "down":
            more = () if any(a.startswith("fe80") for a in card.addresses) else ("fe80::99/64",)
            card = replace(card, up=words[0] == "up", addresses=tuple(sorted((*card.addresses, *more))))
        elif words[0] == "mtu":
            card = card if name == self.stubborn else replace(card, mtu=int(words[1]))
        elif words[0] == "ether":
            card = replace(card, mac=words[1])
        elif words[0].startswith("inet") and words[2] == "delete":
            left = tuple(a for a in card.addresses if a.partition("/")[0] != words[1])
            card = replace(card, addresses=left)
        elif words[0].startswith("inet"):
            card = replace(card, addresses=tuple(sorted((*card.addresses, words[1]))))
        else:
            state = {word.removeprefix("-"): not word.startswith("-") for word in words}
            card = replace(card, offloads=tuple(f for f in ALL if state.get(f, f in card.offloads)))
        self.cards[name] = card

    def _bundle(self, words: list[str]) -> None:
        if words == ["create"]:
            self.there = True
        elif words[0] == "laggproto":
            self.bundle = words[3::2][: words.count("laggport")]
            self.before = {name: self.cards[name] for name in self.bundle}
            first = self.cards[self.bundle[0]]
            common = tuple(f for f in ALL if all(f in self.cards[n].offloads for n in self.bundle))
            for name in self.bundle:
                self.cards[name] = replace(
                    self.cards[name], mac=first.mac, mtu=first.mtu, offloads=common, addresses=("fe80::77/64",)
                )
        elif words == ["destroy"]:
            for name in self.bundle:
                kept = self.before[name]
                self.cards[name] = replace(self.cards[name], mac=kept.mac, offloads=kept.offloads, up=False)
            self.there, self.bundle, self.addresses = False, [], set()
        elif words[2] == "alias":
            self.addresses.add(words[1])


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[System]:
    made = System()
    for module in (lagg, card_state):
        monkeypatch.setattr(module, "capture", made.capture)
        monkeypatch.setattr(module, "run", made.run)
    monkeypatch.setattr(lagg, "RECORD", str(tmp_path / "record"))
    monkeypatch.setattr(card_state, "LEASES", str(tmp_path))
    monkeypatch.setattr(card_state, "PAUSE", 0.0)
    yield made


def test_a_card_is_read_as_the_system_shows_it() -> None:
    found = card_state.card("vmx2", VMX2)
    assert found and (found.mac, found.mtu, found.up) == ("52:54:00:1b:01:02", 4000, True)
    assert found.addresses == ("10.77.2.1/24", "fe80::5054:ff:fe1b:102/64")
    assert "tso4" not in found.offloads and {"tso6", "lro", "txcsum"} <= set(found.offloads)
    assert card_state.card("lo0", "lo0: flags=1008049<UP,LOOPBACK> metric 0 mtu 16384\n\tinet 127.0.0.1/8\n") is None


@pytest.mark.parametrize("names", [["vmx1", "vmx2"], ["vmx2", "vmx1"], ["vmx1", "vmx2", "vmx3"]])
def test_every_card_is_as_it_was_when_the_bundle_is_gone(system: System, names: list[str]) -> None:
    lagg.join("roundrobin", names)
    assert system.bundle == names and len({system.cards[n].mac for n in names}) == 1
    assert {system.cards[n].mtu for n in names} == {CARDS[names[0]].mtu}
    assert system.addresses == {a for n in names for a in CARDS[n].addresses if ":" not in a}
    assert not any("promisc" in line for line in system.done)
    lagg.part()
    assert system.cards == CARDS and not system.there and not Path(lagg.RECORD).exists()
    told = len(system.done)
    lagg.part()
    assert len(system.done) == told, "a second time changes nothing"


@pytest.mark.parametrize("step", range(7))
def test_killed_at_any_step_it_is_put_back_from_what_was_written_first(system: System, step: int) -> None:
    system.dies_at = step
    with pytest.raises(KeyboardInterrupt):
        lagg.join("loadbalance", ["vmx1", "vmx2", "vmx3"])
    lagg.part()
    assert system.cards == CARDS and not system.there


def test_a_step_that_fails_puts_all_back_at_once(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(argv: list[str], watch_caller: bool = True) -> None:
        if argv[1:3] == ["lagg0", "inet"]:
            raise Failed("/sbin/ifconfig ended with 1")
        system.run(argv, watch_caller)

    monkeypatch.setattr(lagg, "run", refuses)
    with pytest.raises(Failed, match="ended with 1"):
        lagg.join("roundrobin", ["vmx1", "vmx2"])
    assert system.cards == CARDS and not system.there


def test_what_does_not_come_back_is_told_and_stays_written_down(system: System) -> None:
    lagg.join("roundrobin", ["vmx1", "vmx2"])
    system.stubborn = "vmx2"
    with pytest.raises(Failed, match=r"vmx2 .* mtu 4000 .* could not be put back: it is vmx2 .* mtu 1500"):
        lagg.part()
    assert Path(lagg.RECORD).exists()
    system.stubborn = ""
    lagg.part()
    assert system.cards == CARDS


def test_what_an_earlier_boot_wrote_is_not_put_back(system: System) -> None:
    lagg.join("roundrobin", ["vmx1", "vmx2"])
    system.boot, system.there, system.cards = "Format: Length:16 Dump:0x99", False, dict(CARDS)
    told = len(system.done)
    lagg.part()
    assert len(system.done) == told


def test_a_clock_that_is_set_meanwhile_makes_no_other_boot(system: System) -> None:
    lagg.join("roundrobin", ["vmx1", "vmx2"])
    system.booted = "{ sec = 3600, usec = 2 }"  # FreeBSD reckons the time of the boot from the clock of the day
    lagg.part()
    assert system.cards == CARDS and not system.there and not Path(lagg.RECORD).exists()
    lagg.join("roundrobin", ["vmx1", "vmx2"])
    system.boot = ""  # nor does a question that gets no answer
    lagg.part()
    assert system.cards == CARDS and not system.there and not Path(lagg.RECORD).exists()


def test_in_a_guest_the_cards_take_every_frame_and_lacp_is_refused(system: System) -> None:
    system.guest = "vmware"
    lagg.join("roundrobin", ["vmx1", "vmx2"])
    assert any("laggport vmx2 promisc up" in line for line in system.done)
    lagg.part()
    told = len(system.done)
    with pytest.raises(Failed, match=r"a guest \(vmware\).* speaks no LACP"):
        lagg.join("lacp", ["vmx1", "vmx2"])
    assert len(system.done) == told and system.cards == CARDS


def test_a_card_with_what_would_not_come_back_is_refused(system: System, tmp_path: Path) -> None:
    def refused(words: str) -> None:
        with pytest.raises(Failed, match=words):
            lagg.join("roundrobin", ["vmx1", "vmx2"])
        assert system.done == [] and system.cards["vmx1"] == CARDS["vmx1"]

    system.routes = "default            10.77.2.254        UGS     3     1500     vmx2\n"
    refused("vmx2 leads to default through a router")
    system.routes, system.bridges = "", "bridge0: flags=1<UP> mtu 1500\n\tmember: vmx2 flags=143<LEARNING>\n"
    refused("vmx2 is in a bundle or bridge already")
    system.bridges, system.cards["vmx2"] = "", replace(CARDS["vmx2"], addresses=("2001:db8::1/64",))
    refused("vmx2 has IPv6 addresses")
    system.cards["vmx2"] = CARDS["vmx2"]
    (tmp_path / "dhclient.vmx1.pid").write_text("1")  # a process that there is
    refused("vmx1 has its address by DHCP")


def test_the_helper_takes_two_to_four_cards_and_never_the_management_adapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lagg, "measuring_adapter", lambda name: name)

    def refusal(*args: str, system: str = "FreeBSD") -> str:
        with pytest.raises(Refused) as caught:
            verbs.build("measure", "lagg", list(args), system)
        return str(caught.value)

    assert "missing" in refusal() and "missing" in refusal("join", "lacp", "vmx1")
    assert "roundrobin" in refusal("join", "broadcast", "vmx1", "vmx2")
    assert "2 to 4" in refusal("join", "failover", *(f"vmx{n}" for n in range(1, 6)))
    assert "different" in refusal("join", "failover", "vmx1", "vmx1")
    assert "one too many" in refusal("part", "vmx1")
    assert "FreeBSD's" in refusal("part", system="Linux")
    monkeypatch.undo()
    kept = tmp_path / "rc.conf"
    kept.write_text('linkladder_management="lo"\n')
    monkeypatch.setattr(appliance, "RC_CONF", str(kept))
    monkeypatch.setattr("linkladder.priv.checks.socket.if_nametoindex", lambda name: 1)
    assert "management adapter" in refusal("join", "roundrobin", "lo", "vmx1")


def test_a_lease_asks_the_helper_for_it_and_for_its_end() -> None:
    change = settings.bundle(Setting(SettingKind.LAGG, "roundrobin"), ["vmx1", "vmx2"])
    assert request(change.kind, change.target, change.value) == ("lagg", "join", "roundrobin", "vmx1", "vmx2")
    assert request(change.kind, change.target, str(CARDS["vmx1"])) == ("lagg", "part")


# --- plans, and who is asked for what

PLAN = (
    """name = "p"
[[experiment]]
rungs = "dc-link"
streams = [1, 8]
settings = [{kind = "lagg", value = "roundrobin"}]
baseline = true
"""
    + PATHS
)


def facts(os: str = "FreeBSD", virtual: str = "") -> dict[str, HostFacts]:
    near = tuple(Nic(f"vmx{n}", addresses=(f"10.77.{n}.1",)) for n in (1, 2))
    far = tuple(Nic(f"vmx{n}", addresses=(f"10.77.{n}.2",)) for n in (1, 2))
    return {"": HostFacts("alpha", os, virtual=virtual, nics=near), "beta": HostFacts("beta", os, nics=far)}


def test_it_is_loaded_by_the_first_paths_addresses_and_so_is_what_it_is_held_against() -> None:
    made = company.spread(plans.read_plan(PLAN).rungs[0]).experiments
    assert [(e.streams, e.bundled, e.paths) for e in made] == [
        (streams, kind, (0,)) for streams in (1, 8) for kind in ("", "roundrobin")
    ]
    assert all(e.discard_first for e in made), "cards start anew with it"
    assert "all cards a roundrobin bundle" in phrases.arm(made[1])


def test_the_change_and_its_undo_are_told_beforehand() -> None:
    changed = plans.read_plan(PLAN).rungs[0].experiments[1]
    known = {end: ToolVersions({"iperf": "2.1.8"}, "FreeBSD") for end in End}
    lines = planned(changed, [Way("10.77.1.1", "10.77.1.2", "beta")], [known], [5301], "KEY")
    for end in End:
        assert any(
            line.startswith(f"{end}: make the cards of all paths one roundrobin bundle")
            and "undo: destroy it, and give each card its addresses, MAC, MTU and offloads back" in line
            for line in lines
        )


def test_an_unknown_protocol_is_no_setting() -> None:
    with pytest.raises(plans.PlanError, match="roundrobin, loadbalance, failover, lacp"):
        plans.read_plan(PLAN.replace('"roundrobin"', '"broadcast"'))


def test_where_the_system_has_no_lagg_it_is_left_out_and_told() -> None:
    rung = plans.read_plan(PLAN).rungs[0]
    assert without_effect(rung, rung.paths, facts()) == {}
    why = without_effect(rung, rung.paths, facts(os="Linux"))
    assert set(why) == {e.id for e in rung.experiments}
    assert any(
        "alpha runs Linux, and bundles are made on loan by FreeBSD's lagg alone" in said for said in why.values()
    )


def test_lacp_in_a_guest_and_a_single_path_are_left_out_and_told() -> None:
    rung = plans.read_plan(PLAN.replace('"roundrobin"', '"lacp"')).rungs[0]
    assert without_effect(rung, rung.paths, facts()) == {}
    guest = without_effect(rung, rung.paths, facts(virtual="vmware"))
    assert any("alpha is a guest (vmware)" in said for said in guest.values())
    alone = without_effect(rung, rung.paths[:1], facts())
    assert any("a bundle takes 2 to 4 cards, and this rung has 1 path" in said for said in alone.values())


async def test_an_end_lends_no_bundle_of_one_card(monkeypatch: pytest.MonkeyPatch) -> None:
    nics = (Nic("vmx0"), Nic("vmx1"))
    monkeypatch.setattr(host, "interface_of", lambda address: {"192.0.2.1": "vmx1", "192.0.2.2": "vmx0"}[address])
    monkeypatch.setattr(host, "facts", lambda: HostFacts("alpha", nics=nics))
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    bundle = (Setting(SettingKind.LAGG, "roundrobin"),)
    with pytest.raises(Declined, match="2 to 4 cards, not 1"):
        await Lending().take(TakeLease(bundle, ("192.0.2.1",), 5.0, ("192.0.2.2",)))
    with pytest.raises(Declined, match="vmx0 carries control"):
        await Lending().take(TakeLease(bundle, ("192.0.2.1", "192.0.2.2"), 5.0, ("192.0.2.2",)))


def test_its_ceiling_is_that_of_all_its_cards() -> None:
    deal = Contract(port_bps=1e9)
    for value, cards in (("roundrobin", 2), ("failover", 1)):
        assert at_lent_mtu(deal, [Setting(SettingKind.LAGG, value)], 2).port_bps == cards * 1e9
