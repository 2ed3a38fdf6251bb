"""Either end of a measurement behind one face: the appliance itself, or a paired one over OpenSSH.

`ask(request)` sends a checked request and returns the reply that it promises; `events` is the queue of what the
end says unasked.  `Refused` is the end's own no, `PeerLost` a channel that broke or went silent.
"""

from __future__ import annotations

from linkladder.peer.connector import Connector, connect
from linkladder.peer.ends import EndPoint, FarEnd, NearEnd, PeerLost, near_end
from linkladder.wire import Refused

__all__ = ["Connector", "EndPoint", "FarEnd", "NearEnd", "PeerLost", "Refused", "connect", "near_end"]
