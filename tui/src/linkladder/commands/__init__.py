"""Holds the command line's commands, a module for each group: `add_parsers(subparsers)`, and handlers that return exit
codes.
"""
