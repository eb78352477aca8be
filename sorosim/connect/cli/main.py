"""The commands and how they end."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from sorosim.base.errors import ConvergenceError, InputError, SorosimError, SorosimWarning
from sorosim.connect.cli import analyses, checks, control, files, fitting, interactive, inversion, pictures, runs
from sorosim.connect.cli.compilation import compile_
from sorosim.connect.cli.console import err, line, out
from sorosim.connect.cli.options import Flag

OK, GAVE_UP, MISTAKE, INTERRUPTED = 0, 1, 2, 130


class _Command(TyperCommand):
    """A command that refuses an option given twice: the parser would keep the last."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = self.make_parser(ctx).parse_args(args=[*args])[2]
        for one in given:
            if isinstance(one, TyperOption) and not (one.multiple or one.is_flag) and given.count(one) > 1:
                hint = "separate several by commas" if one.metavar == "NAMES" else ""
                raise InputError(one.opts[0], "this option once", f"it {given.count(one)} times", hint)
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Simulate robots made of rigid and soft parts.",
    epilog="Exit codes: 0 done, 1 a solver gave up or a check failed, 2 a mistake in what was given, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    runs.simulate, runs.resume, runs.statics, analyses.sweep, analyses.continuation, analyses.modes, inversion.inverse,
    fitting.fit, control.optimise, interactive.live,
    pictures.play, pictures.still, pictures.plot, pictures.movie, pictures.web, pictures.gltf, files.export, files.fmu,
    checks.check, files.info, files.convert, files.robots, files.new, files.schema, checks.bench,
):  # fmt: skip
    app.command(cls=_Command)(command)
app.command("compile", cls=_Command)(compile_)


def _print_version(wanted: bool) -> None:
    if wanted:
        from sorosim import __version__

        out.print(f"sorosim {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, Flag("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What stands before the command."""


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning of ours as one line; others are not for users."""
    if issubclass(category, SorosimWarning):
        line(f"warning: {message}", err)


def _usage_error(error: Any) -> str:
    """An error of the parser in the words of our own errors."""
    option = next(iter(getattr(getattr(error, "param", None), "opts", [])), "")
    if error.message.startswith("expected "):
        return f"{option}: {error.message}"
    message, context = error.format_message().rstrip("."), getattr(error, "ctx", None)
    join = " " if message.endswith("?") else "; "
    return f"{message}{join}see {context.command_path} --help" if context else message


def main() -> None:
    """Run the command line; errors are one line and an exit code."""
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # results are kept after any signal
    try:
        status = app(standalone_mode=False, prog_name="sorosim")
    except SorosimError as error:
        line(f"error: {error}", err)
        sys.exit(GAVE_UP if isinstance(error, ConvergenceError) else MISTAKE)
    except (KeyboardInterrupt, typer.Abort):  # typer itself turns the first into the exit code
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        sys.stderr.close()
        sys.exit(OK)
    except Exception as error:
        # usage errors of the parser (its own class is private to the library's vendored click)
        if hasattr(error, "format_message"):
            line(f"error: {_usage_error(error)}", err)
            sys.exit(MISTAKE)
        raise
    sys.exit(status if isinstance(status, int) else OK)
