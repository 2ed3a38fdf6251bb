"""The half of a measurement that runs at an end: it owns the tools it starts and reaps them, whatever happens.

The same `Service` serves the near end in process and the far end over JSON lines on stdio, where
sshd starts it as a forced command.  Every request is a record of `wire`, checked field by
field; commands are built here from those fields, and no text of a peer ever reaches a shell.
"""

from __future__ import annotations

from linkladder.agent.answering import Service

__all__ = ["Service"]
