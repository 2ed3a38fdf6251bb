"""Whom this end believes: its own keys, the peers' pinned ones, and the OpenSSH channel between exactly those.

`keys` makes and reads this appliance's keys, `peers` holds who is trusted, `sshd` lets those in (a configuration of its
own, which starts the agent and nothing else), `channel` is the ssh client's side, and `files` writes all of it so that
nobody else can read it.
"""
