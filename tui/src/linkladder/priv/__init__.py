"""The privileged helper, the only program that runs as root: `linkladder-priv VERB ARGUMENT...` for the console user,
and `linkladder-measure VERB ARGUMENT...` for the measuring user.

The second has only the verbs that a measurement needs. doas.conf says which user may run which of them, and no argument
turns one into the other. Each argument is checked. `verbs.VERBS` lists the verbs, each with its class and the function
that turns checked arguments into command lines. No shell is run, programs have absolute paths, the environment is
fixed, and every use leaves a line in syslog and in the audit file. Exit status: 0 done, 1 tried and failed, 2 refused
with nothing done.

It imports little, and nothing from the rest of linkladder, because it is started often and must be easy to audit.
"""
