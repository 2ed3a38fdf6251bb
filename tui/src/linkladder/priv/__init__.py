"""The one program that runs as root, by two doors: `linkladder-priv VERB ARGUMENT...`, the console user's, and
`linkladder-measure VERB ARGUMENT...`, the measuring user's.

The second knows all that a measurement may cause here, and no more.  Which of them a user may open stands in
doas.conf; no word that the caller chooses makes one into the other.  Each argument is checked.  A verb is
a line of `verbs.VERBS`: its class, and the function that turns checked arguments into command lines.  No
shell is ever run, programs are named by absolute path, the environment is made anew, and every use leaves a
line in syslog and in the audit file.  Exit status: 0 done, 1 tried and failed, 2 refused with nothing done.

It imports little and none of the rest of linkladder: it is started often, and it is what must be audited.
"""
