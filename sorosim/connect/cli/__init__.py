"""The command line: argument parsing and printing only."""

from sorosim.connect.cli.main import main

__all__ = ["main"]
