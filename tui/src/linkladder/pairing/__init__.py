"""Which appliances are trusted, and the OpenSSH channel between exactly those."""
