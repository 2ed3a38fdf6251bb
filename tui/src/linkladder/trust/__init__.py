"""Decides whom this end trusts: its own keys, the pinned keys of its peers, and the OpenSSH channel between them.

`keys` makes and reads this appliance's keys, `peers` lists who is trusted, `sshd` lets them in (with a separate
configuration that starts only the agent), `channel` is the side of the ssh client, and `files` writes all of it so that
no other user can read it.
"""
