"""Write the options of all commands into docs/command_line.md anew: python docs/make_command_line.py

They are those that `sorosim COMMAND --help` tells; tests/test_documents.py compares.
"""

import inspect
import re
from pathlib import Path
from typing import Any

from sorosim.connect.cli.main import COMMANDS, command

PAGE = Path(__file__).resolve().parent / "command_line.md"
BEGIN = "## All options\n"


def prose(text: str) -> str:
    """Text with its options as code, or dashes would be joined; one that may stand in a cell of a table."""
    text = re.sub(r"(?<=as in )--[^;]+?(?=;|\.(?:\s|$))", r"`\g<0>`", text)
    return re.sub(r"(?<![\w`-])--[a-z][\w-]*", r"`\g<0>`", text).replace("|", "\\|")


def row_of(option: Any) -> str:
    """A line of the table: an option, what it takes, what it is and what it is without."""
    spellings = (*option.opts, *option.secondary_opts)
    names = ", ".join(f"`{name} {option.metavar or ''}".rstrip() + "`" for name in spellings)
    told = option.help
    if option.required:
        told += " Always needed."
    elif option.metavar and option.default not in (None, ()):
        told += f" Default: `{option.default}`."
    return f"| {names} | {prose(told)} |\n"


def section(name: str, command: Any) -> str:
    """What a command takes."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    words = " ".join([name, *(one.metavar + ("..." if one.nargs < 0 else "") for one in arguments)])
    paragraphs = inspect.cleandoc(command.help).split("\n\n")
    told = [prose(" ".join(one.split())) for one in paragraphs if not one.startswith("Example:")]
    told += [f"{one.metavar}: {prose(one.help)}" for one in arguments]
    (example,) = (" ".join(one.split()) for one in paragraphs if one.startswith("Example:"))
    out = f"### {name}\n\n`sorosim {words}`\n\n" + "\n\n".join(told)
    out += f"\n\nExample: `{example.removeprefix('Example: ')}`\n"
    if options:
        out += "\n| option | |\n|---|---|\n" + "".join(map(row_of, options))
    return out


def with_options(page: str) -> str:
    """The page with its last part written anew."""
    sections = (section(name, command(name)) for name in COMMANDS)
    return page[: page.index(BEGIN)] + BEGIN + "\n" + "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(with_options(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
