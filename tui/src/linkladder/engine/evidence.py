"""What can be checked of the claim where the two machines stand; kept beside the operator's word."""

from __future__ import annotations

from linkladder import host
from linkladder.model import Evidence, Path, Rung, RungName

CLAIMS = {
    RungName.SAME_HOST: "both appliances are on one host",
    RungName.SAME_VLAN: "the appliances are on two hosts in one VLAN",
    RungName.DC_LINK: "the link lies between the appliances",
}


def evidence(rung: Rung, path: Path, round_trips: dict[RungName, float]) -> Evidence:
    """Findings for and against the rung's claim, from what this end can see without asking anybody."""
    findings: list[str] = []
    contradicts = False
    near_by = rung.name in (RungName.SAME_HOST, RungName.SAME_VLAN)
    subnet = host.same_subnet(path.local, path.remote)
    direct = host.arp_direct(path.remote)
    if subnet:
        findings.append(f"{path.remote} is in the subnet of {path.local}")
    else:
        findings.append(f"{path.remote} is behind a router, as seen from {path.local}")
        contradicts = contradicts or near_by
    if direct is not None:
        findings.append(
            f"{path.remote} " + ("answers ARP itself" if direct else "does not answer ARP: something routes")
        )
        contradicts = contradicts or (near_by and not direct)
    for name in RungName:
        if name != rung.name and name in round_trips:
            findings.append(f"the round trip on {name} was {round_trips[name]:.3f} ms")
    return Evidence(CLAIMS.get(rung.name, ""), tuple(findings), contradicts)
