"""Groups of subcommands; each module adds its parsers to the command line and returns exit codes."""
