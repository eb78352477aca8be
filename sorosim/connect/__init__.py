"""The command line, and other programs."""
