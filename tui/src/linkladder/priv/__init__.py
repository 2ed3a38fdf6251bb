"""The one program that runs as root: `linkladder-priv CLASS VERB ARGUMENT...`, with each argument checked.

CLASS is `measure`, all that a far peer's measurement may cause here, or `operator`, the console's own.  The
same program started as `linkladder-measure` takes no class and knows the measuring verbs alone.  A verb is
a line of `verbs.VERBS`: its class, and the function that turns checked arguments into command lines.  No
shell is ever run, programs are named by absolute path, the environment is made anew, and every use leaves a
line in syslog and in the audit file.  Exit status: 0 done, 1 tried and failed, 2 refused with nothing done.

It imports little and none of the rest of linkladder: it is started often, and it is what must be audited.
"""
