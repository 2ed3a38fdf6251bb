"""The command line's commands, a module for each group: `add_parsers(subparsers)` and handlers that give exit codes."""
