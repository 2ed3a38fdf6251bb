"""Pairs two appliances: they are found on the segment, and each end is confirmed by the code that the other shows.

The protocol runs between an initiator (the end that called) and a responder (the end with the open window) over TCP
port 8623, in lines of JSON of at most 4 KiB each:

    hello    protocol, linkladder's version, role, method of confirming (person or secret), a random tie-breaker
    commit   SHA-256 over "commitment", the role and the reveal that will follow, which has a random nonce of 256 bits
    reveal   name, addresses, control port, ssh user, host key, user key, nonce; sent only after the other end's
             commitment has been received
    confirm  a yes: SHA-256 of the bits that `done` will send, and signatures by the private keys of both revealed keys
             (OpenSSH's, ssh-keygen -Y) over "yes", the role, the transcript and that hash; with a site secret also
             HMAC-SHA-256 under it over "secret" and the same
    done     sent after the keys are stored: the 256 random bits whose hash is in `confirm`
    refuse   at any time instead, with one of a fixed list of reasons

If both ends call each other, the call of the end with the lower tie-breaker goes on unless it fails; the other call has
revealed nothing.

The transcript is SHA-256 over the lines of both ends exactly as they were sent: hello, commit, reveal, each first from
the initiator, then from the responder. Every hash begins with the protocol's name, its version and a label, and every
part has its length before it. Each end shows its own code, derived from a hash of the transcript and its role: six
digits, and three of 256 words from further bits of the same hash. The person at an end says yes by typing the code that
the other end shows. No screen of this end shows it, so a person who has not looked there cannot say yes by mistake, and
nobody has to compare codes by eye. An end stores the other's keys when its own person has confirmed and the other end
has sent and signed the yes of its person.

What an attacker achieves who
- sees everything: learns names, addresses and public keys, with which nothing can be opened.
- alters messages or sits in between with own keys: the two ends get different transcripts, so the code shown at one end
  is not the one expected at the other. The attacker is bound by a commitment before it learns either end's nonce, so it
  can only hope that the codes agree: 1 in 1,000,000 for each pair of attempts and each end (digits; words 1 in
  16,777,216). Every attempt that ends after this end has revealed counts, whether refused, broken off or silent, and
  the third closes the window: 3 in 1,000,000 against one open attempt of the other end, and less than 9 in 1,000,000
  for two whole windows, at either end. It cannot try codes uncounted, as an end reveals to one other at a time.
- passes everything on unchanged: gets none of its own keys in, and no yes that the other end did not sign.
- shows another's public keys as its own: gets no yes, as it lacks the private keys to sign it.
- reflects messages: fails, as roles are in every hash, and an end refuses its own tie-breaker, commitment and keys.
- replays messages: fails, as both nonces are fresh, so an old reveal, confirm or HMAC fits no new transcript.
- speaks another version: gets no pairing. Nothing is negotiated, so no end can be talked into something weaker; the
  method of confirming is in the transcript and must be the same at both ends.
- delays or drops messages: makes a pairing time out. Without the last `confirm` or `done`, at most one end has stored
  the other's keys, which its own person had confirmed, and which the next pairing replaces.
- floods: an address may have four waiting connections, each for five seconds; of 256 in all, one is dropped of an
  address that has failed before or has several, or that has sent nothing. An attacker who completes handshakes can use
  up the three attempts and so close the window, and one who floods beacons can hide those of others, so that addresses
  must be typed; nothing worse.
- floods a window that a site secret guards: closes nothing and holds nothing. Exchanges go on side by side, whoever has
  shown the secret is never dropped, and the called end signs only for such a one.
- has the site secret: achieves everything. Without it 160 bits must be guessed; the HMAC of a pairing in which the
  attacker took part lets it check guesses offline, and all guesses are equally likely.
"""
