"""The commands and how they end."""

from __future__ import annotations

import ast
import signal
import sys
import warnings
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from sorosim.base.errors import ConvergenceError, InputError, SorosimError, SorosimWarning

OK, GAVE_UP, MISTAKE, INTERRUPTED = 0, 1, 2, 130

# in the order of --help: a module beside this one, and functions in it, which an underscore keeps from Python's names
_MODULES = (
    ("runs", ("simulate", "resume", "statics")),
    ("analyses", ("sweep", "continuation", "modes")),
    ("inversion", ("inverse",)),
    ("fitting", ("fit",)),
    ("estimation", ("estimate", "observe")),
    ("design", ("design",)),
    ("control", ("optimise",)),
    ("interactive", ("live",)),
    ("pictures", ("play", "still", "plot", "movie", "web", "gltf")),
    ("files", ("export", "fmu")),
    ("checks", ("check",)),
    ("files", ("info", "convert", "robots", "new", "schema")),
    ("checks", ("bench",)),
    ("compilation", ("compile_",)),
)
COMMANDS = {function.rstrip("_"): (module, function) for module, functions in _MODULES for function in functions}


class _Command(TyperCommand):
    """A command that refuses an option given twice: the parser would keep the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = self.make_parser(ctx).parse_args(args=[*args])[2]
        for one in given:
            if isinstance(one, TyperOption) and not (one.multiple or one.is_flag) and given.count(one) > 1:
                hint = "separate several by commas" if one.metavar == "NAMES" else ""
                raise InputError(one.opts[0], "this option once", f"it {given.count(one)} times", hint)
        return super().parse_args(ctx, args)


class _Listed(TyperCommand):
    """A command as it stands in a list; its module is imported when it is called or asked for its options."""

    def make_context(self, *arguments: Any, **others: Any) -> Any:
        return command(self.name or "").make_context(*arguments, **others)

    def get_short_help_str(self, limit: int = 0) -> str:
        return summary(self.name or "")


class _Group(TyperGroup):
    """All commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": {name: _Listed(name) for name in COMMANDS}})

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)  # flags, all of them
        for flag in params:
            flag.default = False  # it is None for some, of which pydantic would make a truth value: slow to import
        return params


@cache
def command(name: str) -> Any:
    """A command with its options."""
    module, function = COMMANDS[name]
    alone = typer.Typer(add_completion=False, **_SETTINGS)
    alone.command(name, cls=_Command)(getattr(import_module(f"{__package__}.{module}"), function))
    return typer.main.get_command(alone)


def summary(name: str) -> str:
    """What a command does: the first paragraph of its docstring, read in its source, which imports nothing."""
    module, function = COMMANDS[name]
    for node in _functions(module):
        if node.name == function:
            return " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
    raise LookupError(f"no function {function} in {module}.py")


@cache
def _functions(module: str) -> list[ast.FunctionDef]:
    source = files(__package__).joinpath(f"{module}.py").read_text("utf-8")
    return [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


# plain text: tables of rich take longer to import than all the rest
_SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 120},
}
app = typer.Typer(
    cls=_Group,
    help="Simulate robots made of rigid and soft parts.",
    epilog="Exit codes: 0 done, 1 a solver gave up or a check failed, 2 a mistake in what was given, 130 interrupted.",
    invoke_without_command=True,
    **_SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from sorosim import __version__

        print(f"sorosim {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """What stands before the command."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(MISTAKE)


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning of ours as one line; others are not for users."""
    if issubclass(category, SorosimWarning):
        from sorosim.connect.cli.console import err, line

        line(f"warning: {message}", err)


def _usage_error(error: Any) -> str:
    """An error of the parser in the words of our own errors."""
    option = next(iter(getattr(getattr(error, "param", None), "opts", [])), "")
    if error.message.startswith("expected "):
        return f"{option}: {error.message}"
    message, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
    join = " " if message.endswith("?") else "; "
    return f"{message}{join}see {context.command_path} --help" if context else message


def _fail(error: str, code: int) -> NoReturn:
    """End with one line."""
    from sorosim.connect.cli.console import err, line

    line(f"error: {error}", err)
    sys.exit(code)


def main() -> None:
    """Run the command line; errors are one line and an exit code."""
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # results are kept after any signal
    try:
        status = app(standalone_mode=False, prog_name="sorosim")
    except SorosimError as error:
        _fail(str(error), GAVE_UP if isinstance(error, ConvergenceError) else MISTAKE)
    except (KeyboardInterrupt, typer.Abort):  # typer itself turns the first into the exit code
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        sys.stderr.close()
        sys.exit(OK)
    except Exception as error:
        # usage errors of the parser (its own class is private to the library's vendored click)
        if hasattr(error, "format_message"):
            _fail(_usage_error(error), MISTAKE)
        raise
    sys.exit(status if isinstance(status, int) else OK)
