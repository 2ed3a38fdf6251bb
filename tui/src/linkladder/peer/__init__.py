"""Gives both ends of a measurement the same interface: this appliance, and a paired one over OpenSSH.

`ask(request)` sends a checked request and returns its reply; `events` is the queue of the events that the end sends
without being asked. The end itself raises `Refused`; `PeerLost` means that the channel broke or went silent.
"""

from __future__ import annotations

from linkladder.peer.connector import Connector, connect
from linkladder.peer.ends import EndPoint, FarEnd, NearEnd, PeerLost, near_end
from linkladder.wire import Refused

__all__ = ["Connector", "EndPoint", "FarEnd", "NearEnd", "PeerLost", "Refused", "connect", "near_end"]
