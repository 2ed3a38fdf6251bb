"""How two appliances come to trust each other: found on the segment, confirmed by the code that the other end shows.

The protocol, between an initiator (who called) and a responder (whose window is open), over TCP port 8623
in lines of JSON of at most 4 KiB each:

    hello    protocol, linkladder's version, role, how it will be confirmed (person or secret), a random tie-breaker
    commit   SHA-256 over "commitment", the role and the reveal that will follow, a random nonce of 256 bits in it
    reveal   name, addresses, control port, ssh user, host key, user key, nonce; sent only once the other end's
             commitment is here
    confirm  a yes: SHA-256 of what `done` will say, and signatures by both private keys of the revealed ones
             (OpenSSH's, ssh-keygen -Y) over "yes", the role, the transcript and that hash; with a site secret also
             HMAC-SHA-256 under it over "secret" and the same
    done     said after the keys are stored: 256 random bits that open the hash in `confirm`
    refuse   at any time instead, with one of a fixed list of reasons

Of two calls that cross, the one of the end with the lower tie-breaker goes on unless it comes to nothing; nothing has
been revealed in the other.

The transcript is SHA-256 over the lines of both ends just as they were sent: hello, commit, reveal, each first of the
initiator, then of the responder.  Every hash begins with the protocol's name, its version and a label, and every part
has its length before it.  Each end shows a code of its own, derived from a hash of the transcript and its role: six
digits, and three of 256 words from further bits of the same hash.  Its person says yes by typing the code that the
other end shows, which no screen of this end does: whoever has not looked there cannot say yes by mistake, and whoever
has need not compare by eye.  An end stores the other's keys when its own person has confirmed and the other end has
said, and signed, that its person did.

What an attacker gets who
- sees everything: names, addresses and public keys; nothing that opens anything.
- alters or sits in between with keys of their own: two different transcripts, so what one end shows is not what is
  due at the other.  Bound by a commitment before it learns either end's nonce, it can only hope that they agree: 1 in
  1,000,000 for each pair of attempts and each end (digits; words 1 in 16,777,216).  Every attempt that ends after
  this end has revealed counts, whether refused, broken off or silent, and the third closes the window: 3 in 1,000,000
  against one open attempt of the other end, and less than 9 in 1,000,000 for two whole windows, at either end.  It
  cannot try codes without being counted: an end reveals to one other at a time.
- passes everything on unchanged: no keys of its own get in, and no yes that the other end did not sign.
- shows somebody else's public keys as its own: no yes, since it owns no private key that could sign it.
- reflects: roles are in every hash, and one's own tie-breaker, commitment or keys are refused.
- replays: both nonces are fresh, so an old opening, confirmation or HMAC fits no new transcript.
- speaks another version: no pairing.  Nothing is negotiated, so that there is nothing to talk an end down to; the way
  of confirming is in the transcript and must be the same at both ends.
- delays or drops: a pairing that fails by time-out.  A dropped last `confirm` or `done` leaves at most a pin at one
  end, which lets nobody in who was not confirmed by that end's own person, and which the next pairing replaces.
- floods: an address may have four connections waiting, each for five seconds; of 256 in all the oldest that has said
  nothing makes room.  One who completes handshakes can use up the three attempts and so close the window, and one who
  floods beacons can hide those of others, so that addresses must be typed; never more.
- has the site secret: everything.  One who has not must guess 160 bits; the HMAC of a pairing in which it took part
  is something to try guesses on at leisure, and no guess is likelier than another.
"""
