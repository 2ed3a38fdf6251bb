"""What the Link screen says before a run: what cannot be proven, and what was typed wrong."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import pytest

from linkladder import plan, units
from linkladder.app.link_form import (
    carrier,
    ceiling_sentence,
    contract_of,
    first_contract,
    first_contract_source,
    near_address,
    path_typed,
    short_rate,
)
from linkladder.app.plan_warnings import capacity, warnings
from linkladder.errors import UsageError
from linkladder.model import Contract, HostFacts, Layer, Nic, Path, RungName
from linkladder.plan import Link, load_link, save_link
from linkladder.plan.link import Side

NIC = Nic("vmx1", "vmxnet3", mtu=1500, up=True, speed_bps=10e9, addresses=("10.0.0.1", "10.1.0.1"))
HOST = HostFacts("alpha", cores=8, nics=(NIC,), window_limit=14 << 20)
Paths = dict[RungName, tuple[Path, ...]]
PATHS: Paths = {
    RungName.SAME_HOST: (Path("10.0.0.1", "10.0.0.2", "beta"),),
    RungName.SAME_VLAN: (Path("10.0.0.1", "10.0.0.3", "beta"),),
    RungName.DC_LINK: (Path("10.1.0.1", "10.2.0.2", "beta"),),
}
GOOD = {
    "circuit": "C-1", "port": "10G", "rate": "1G", "layer": "L2", "mtu": "1500", "vlan": "0", "ip": "4", "rtt": "1.5",
    "loss": "0.05", "delay": "20", "jitter": "", "up": "99.99",
}  # fmt: skip


ONCE = 'name = "once"\n[[experiment]]\nstreams = "auto"\n'


def said(
    contract: Contract | None = None,
    name: str = "circuit",
    paths: Paths | None = None,
    host: HostFacts = HOST,
    far: dict[str, HostFacts] | None = None,
    known: dict[str, tuple[str, ...]] | None = None,
) -> str:
    link = Link(contract or Contract(), PATHS if paths is None else paths)
    own = plan.read_plan(ONCE, cores=host.cores, contract=link.contract) if name == "once" else None
    made = plan.with_link(own or plan.builtin(name, host.cores, link.contract), link)
    made = replace(made, rungs=tuple(r for r in made.rungs if r.name == RungName.LOCALHOST or r.path.remote))
    return " ".join(warnings(link, made, host, far, known))


def test_a_plan_that_can_prove_its_contract_is_left_alone() -> None:
    assert said() == ""


def test_too_few_cores_for_the_rate() -> None:
    assert "1 vCPU here" in said(host=replace(HOST, cores=1))
    assert "ends in CANNOT JUDGE" in said(Contract(port_bps=100e9), host=replace(HOST, cores=8, nics=()))
    assert said(Contract(rate_bps=1e9), host=replace(HOST, cores=1)) == "", "one core carries 1 Gb/s"
    assert capacity(3) == capacity(2) < capacity(4) < capacity(16)


def test_the_far_end_may_be_the_weak_one() -> None:
    known = {"near": HOST, "beta": replace(HOST, name="b", cores=1), "gamma": replace(HOST, cores=1)}
    text = said(far=known)
    assert text.startswith("1 vCPU at beta: as a hint, so many sent 5.83 Gb/s") and "gamma" not in text
    assert "1 vCPU here, 2 vCPUs at beta: as a hint, so many sent 5.83 Gb/s" in said(
        host=replace(HOST, cores=1), far={"beta": replace(HOST, cores=2)}
    )
    assert said(far={"beta": HOST}) == ""


def test_a_peer_of_which_every_address_is_tested_has_none_for_control_alone() -> None:
    assert "an outage of its card cuts control as well" in said(known={"beta": ("10.2.0.2", "10.0.0.2")})
    assert said(known={"beta": ("10.2.0.2", "10.9.0.2"), "gamma": ("10.2.0.2",), "delta": ()}) == ""


def test_a_peer_that_is_not_paired_any_more_is_told_before_the_run() -> None:
    assert "dc-link: beta is not paired; choose another" in said(known={"gamma": ("10.9.0.2",)})
    assert "not paired" not in said(known={"beta": ("10.9.0.2",)})


def test_a_ceiling_below_the_contract() -> None:
    text = said(Contract(rate_bps=10e9, layer=Layer.L2))
    assert "the port carries at most 9.41 Gb/s of TCP" in text and "MTU 9000 would allow 9.90 Gb/s" in text
    assert said(Contract(rate_bps=9e9, layer=Layer.L2)) == ""


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ({}, "No rung has an address there"),
        ({RungName.SAME_HOST: PATHS[RungName.SAME_HOST]}, "the link itself will not be measured"),
        ({RungName.DC_LINK: (Path("10.9.9.9", "10.2.0.2", "beta"),)}, "10.9.9.9 is no address of this machine"),
        ({RungName.DC_LINK: (Path("10.1.0.1", "10.0.0.1", "beta"),)}, "10.0.0.1 is this machine itself"),
        ({RungName.DC_LINK: (Path("10.1.0.1", "10.2.0.2", ""),)}, "no peer is named"),
        ({r: (Path("10.0.0.1", "10.0.0.2", "beta"),) for r in PATHS}, "asked to move it before each"),
    ],
)
def test_paths_that_cannot_be(paths: Paths, words: str) -> None:
    assert words in said(paths=paths)


def test_cards_windows_and_repeats() -> None:
    assert "vmx1 has MTU 1500, less than the 9000" in said(Contract(mtu=9000))
    assert "vmx1 runs at 1.00 Gb/s" in said(host=replace(HOST, nics=(replace(NIC, speed_bps=1e9),)))
    assert "must be in flight at 200 ms" in said(Contract(expected_rtt_ms=200.0))
    assert "verdict is provisional" in said(name="once") and "provisional" not in said(name="quick")
    assert "provisional" not in said(name="ladder"), "it repeats what may be the best"
    assert "nothing inside one host" in said(name="soak")


@pytest.mark.parametrize(
    ("key", "typed", "words"),
    [
        ("port", "", "Port rate: expected a rate"),
        ("rate", "5", "Contracted rate: expected a rate from 1k"),
        ("rate", "20G", "at most the port's rate"),
        ("mtu", "15OO", "MTU: expected a whole number"),
        ("vlan", "3", "VLAN tags: expected"),
        ("rtt", "0", "Round trip, ms: expected a number from 0.001"),
        ("circuit", "x" * 300, "Circuit: expected a line"),
    ],
)
def test_what_is_typed_wrong_is_named_and_never_saved(key: str, typed: str, words: str) -> None:
    with pytest.raises(UsageError, match="nothing was saved") as error:
        contract_of(GOOD | {key: typed}, Contract())
    assert words in error.value.title


def test_what_is_taken_can_be_read_again(tmp_path: pathlib.Path) -> None:
    made = contract_of(GOOD, Contract())
    save_link(tmp_path, Link(made, PATHS))
    assert load_link(tmp_path) == Link(made, PATHS)
    assert ceiling_sentence(made) == "At most 956 Mb/s of TCP fits into the contract's 1.00 Gb/s of frames at MTU 1500."


@pytest.mark.parametrize("bps", [10e9, 9.95328e9, 1e12, 952.4e6, 1234567.0, 1e3, 2.5e9, 1e9 / 3])
def test_a_rate_in_a_field_is_read_back_as_it_was(bps: float) -> None:
    assert units.parse_rate(short_rate(bps)) == pytest.approx(bps, rel=1e-14)
    assert short_rate(10e9) == "10G" and short_rate(None) == ""


def test_the_first_contract_is_what_the_interface_could_carry() -> None:
    slow = replace(NIC, speed_bps=1e9, mtu=9000)
    assert first_contract(slow) == Contract(port_bps=1e9, mtu=9000)
    assert "those of vmx1" in first_contract_source(slow)
    for unknown in (replace(NIC, speed_bps=None), replace(NIC, driver="veth", speed_bps=1e9)):
        assert first_contract(unknown) == Contract(port_bps=10e9, mtu=1500)
        assert "vmx1 does not tell its speed" in first_contract_source(unknown)
    assert first_contract(None) == Contract() == first_contract(replace(NIC, mtu=0))
    assert "a guess" in first_contract_source(None)


def test_the_near_end_of_a_path_is_on_the_interface_that_leads_there() -> None:
    other = replace(NIC, name="vmx2", addresses=("fe80::1", "10.2.0.1", "fd00::1"))
    host = replace(HOST, nics=(NIC, other))
    assert near_address(host, "10.2.0.2") == "10.2.0.1" == near_address(host, "10.2.0.2", "tun0")
    assert near_address(host, "10.2.0.2", "vmx1") == "10.0.0.1"
    assert near_address(host, "fd00::2", "vmx1") == "fd00::1", "no IPv6 address there"
    assert near_address(host, "10.2.0.2", "") and near_address(HostFacts("alone"), "10.2.0.2") == ""
    assert carrier(host, "10.2.0.1") == other and carrier(host, "") is None is carrier(host, "10.9.9.9")


FIRST = Nic("vmx1", "vmxnet3", mtu=1500, up=True, speed_bps=10e9, addresses=("10.0.0.1",))
SECOND = replace(FIRST, name="vmx2", addresses=("10.0.0.11",))
TWO = replace(HOST, nics=(FIRST, SECOND))
BESIDE: Paths = {RungName.DC_LINK: (Path("10.0.0.1", "10.0.0.2", "beta"), Path("10.0.0.11", "10.0.0.12", "beta"))}


def of_two_cards(host: HostFacts = TWO, far: dict[str, HostFacts] | None = None, second: str = "vmx2") -> list[str]:
    link = Link(Contract(), BESIDE)
    ways = {("10.0.0.1", "10.0.0.2"): "vmx1", ("10.0.0.11", "10.0.0.12"): second}
    made = plan.with_link(plan.builtin("circuit", host.cores, link.contract), link)
    return [said for said in warnings(link, made, host, far, ways=ways) if said.startswith("dc-link: ")]


def test_two_cards_in_one_network_are_told_before_the_run_refuses_them() -> None:
    assert of_two_cards(second="vmx1") == [
        "dc-link: from 10.0.0.11 to 10.0.0.12 packets of the near end leave by vmx1, not by vmx2: give each card a "
        "network of its own, or that end a route to 10.0.0.12 by vmx2."
    ]
    assert of_two_cards() == of_two_cards(second="") == []


def test_cards_of_unlike_mtu_are_told_beside_each_other_and_from_end_to_end() -> None:
    jumbo = replace(TWO, nics=(FIRST, replace(SECOND, mtu=9000)))
    assert of_two_cards(jumbo) == [
        "dc-link: its paths have cards of unlike MTU (vmx1 1500 and vmx2 9000), so that their rates do not compare."
    ]
    there = replace(SECOND, name="em2", addresses=("10.0.0.12",))
    found = of_two_cards(jumbo, {"beta": replace(HOST, nics=(there,))})
    assert found[0].startswith("dc-link: vmx2 has MTU 9000, and em2 at beta 1500: ") and len(found) == 2
    assert of_two_cards(far={"beta": replace(HOST, nics=(there,))}) == []


def of_mesh(name: str, link: Link, paired: tuple[str, ...]) -> list[str]:
    """What is said as on the Link page, where the peers that are paired are known."""
    made = plan.with_link(plan.builtin(name, HOST.cores, link.contract), link, paired=paired)
    return warnings(link, replace(made, rungs=tuple(r for r in made.rungs if r.path.peer)), HOST)


def test_a_mesh_of_the_paired_peers_needs_no_address_on_the_link_page() -> None:
    bare = Link(Contract())
    assert [text for text in of_mesh("mesh", bare, ("beta", "gamma")) if "address" in text or "not be" in text] == []
    assert of_mesh("mesh", bare, ())[0].startswith("No rung has an address there")


def test_of_a_mesh_the_paths_of_the_ends_are_looked_at_and_not_those_of_the_link() -> None:
    ends = {"near": Side("10.1.0.1", "vmx1"), "beta": Side("10.2.0.2"), "gamma": Side("10.2.0.3")}
    other: Paths = {RungName.SAME_VLAN: (Path("10.9.9.9", "10.1.0.1", ""),)}
    link = Link(Contract(mtu=9000), other, ends=ends)
    found = of_mesh("mesh", link, ("beta", "gamma"))
    assert not [text for text in found if text.startswith("same-vlan") or "no address" in text], found
    assert "vmx1 has MTU 1500, less than the 9000 of the contract." in found


def test_a_path_between_two_ip_versions_is_not_taken() -> None:
    assert path_typed("fd00::1", "fd00::2", Path(), "beta").remote == "fd00::2"
    with pytest.raises(ValueError, match=r"expected an address of the IP version of fd00::1, its local one$"):
        path_typed("fd00::1", "10.0.0.2", Path(), "beta")
    with pytest.raises(ValueError, match=r"expected an IP address, such as 10\.0\.0\.1$"):
        path_typed("", "there", Path(), "beta")


def test_a_path_that_was_typed_before_is_not_taken_again() -> None:
    """What the console saved with such a pair, no command could read."""
    before = [Path("10.0.0.1", "10.0.0.2", "beta"), Path("10.0.1.1", "10.0.1.2", "beta")]
    with pytest.raises(ValueError, match=r"expected another path than path 2, between the same addresses$"):
        path_typed("10.0.1.1", "10.0.1.2", Path(), "beta", before)
    assert path_typed("10.0.1.1", "10.0.1.2", Path(), "gamma", before).peer == "gamma"
