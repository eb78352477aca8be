"""The command line: argument parsing and printing only."""

from sorosim.cli.main import main

__all__ = ["main"]
