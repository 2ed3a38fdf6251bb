"""Checks what an operator types for the appliance, as the privileged helper does again; '' means that it is right."""

from __future__ import annotations

import difflib
import ipaddress
import zoneinfo

from linkladder.priv import access
from linkladder.priv.checks import Refused, host_name, public_key

KEY_FORM = "one line as in id_ed25519.pub: ssh-ed25519 AAAA... you@your-computer"


def wrong_name(text: str) -> str:
    try:
        host_name(text)
    except Refused:
        return "Letters, digits, dashes and dots, with no dash at an end."
    return ""


def wrong_address(method: str, address: str, router: str) -> str:
    """What is wrong with an interface's address and router; the methods dhcp and none need neither."""
    if method != "static":
        return ""
    if "/" not in address:
        return "Write the address with its prefix, such as 10.1.0.2/24."
    try:
        own = ipaddress.ip_interface(address)
    except ValueError:
        return f"{address} is no address with a prefix."
    if own.ip.is_multicast or own.ip.is_unspecified or own.network.prefixlen == 0:
        return "That is not the address of one host."
    if own.version == 4 and own.network.prefixlen < 31 and own.ip in (own.network[0], own.network[-1]):
        return "That is the network's own address, or its broadcast."
    if not router:
        return ""
    try:
        hop = ipaddress.ip_address(router)
    except ValueError:
        return "The router is no address; leave it empty where there is none."
    if hop not in own.network or hop == own.ip:
        return f"The router must be another address in {own.network}."
    return ""


def wrong_zone(text: str) -> str:
    """What is wrong with the name of a time zone, with similar names; may block."""
    known = zoneinfo.available_timezones()
    if text in known:
        return ""
    lower = {name.lower(): name for name in known}
    near = [name for low, name in lower.items() if text.lower().replace(" ", "_") in low.rpartition("/")[2]]
    near += [lower[low] for low in difflib.get_close_matches(text.lower(), lower, 3)]
    said = f" Near: {', '.join(dict.fromkeys(near[:4]))}." if near else ""
    return f"There is no time zone {text or 'without a name'}.{said}"


def key_words(line: str) -> tuple[str, str, str]:
    """Kind, key and comment from a public key's line; raises ValueError with what is wrong."""
    parts = line.split()
    if "PRIVATE" in line:
        raise ValueError("That is a private key: never give it away. The file that ends in .pub is meant.")
    if len(parts) < 2 or parts[0] not in access.KEY_TYPES:
        raise ValueError(f"Expected {KEY_FORM}")
    try:
        key = public_key(parts[0], parts[1])
    except Refused:
        raise ValueError(f"The key is damaged: it is not that of an {parts[0]} key.") from None
    comment = "".join(c if c.isascii() and (c.isalnum() or c in "@._-") else "_" for c in "_".join(parts[2:]))
    return parts[0], key, comment.lstrip("-")[:64] or "operator"


def wrong_key(line: str) -> str:
    try:
        key_words(line)
    except ValueError as error:
        return str(error)
    return ""


def wrong_password(first: str, again: str) -> str:
    if first != again:
        return "The two are not the same."
    if not access.LEAST <= len(first) <= access.MOST or not first.isascii() or not first.isprintable():
        return f"{access.LEAST} to {access.MOST} letters, digits and signs."
    return ""
