"""A published AIX test of large send: cores consumed and throughput with mtu_bypass off and on, as typed there."""

from __future__ import annotations

# threads, mtu_bypass, cores consumed over LPARs and VIO servers, Mb/s
THROUGHPUT = (
    (1, False, 4.02, 2500.0),
    (1, True, 3.22, 6200.0),
    (8, False, 5.52, 3900.0),
    (8, True, 4.13, 8800.0),
)

# sessions, mtu_bypass, cores, transactions a second of 700 bytes
TRANSACTIONS = (
    (10, False, 4.06, 52_000.0),
    (10, True, 4.06, 52_000.0),
    (50, False, 6.50, 131_000.0),
    (50, True, 6.50, 131_000.0),
)
