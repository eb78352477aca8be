"""Errors of sorosim: one root, few leaves, each carries its data."""

from __future__ import annotations

import difflib
import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")

# what neither files nor terminals take: control characters, halves of surrogate pairs, marks that turn the direction
UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


def printable(text: str) -> str:
    """The text with a backslash and a number in the place of every character that cannot be printed."""
    return UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape", "surrogatepass").decode(), text)


class SorosimError(Exception):
    """Root of every error that sorosim raises on purpose."""


class _Described(SorosimError):
    """An error that says which object, what was expected, what came and what to try.

    Parameters
    ----------
    where : str
        The object, as a path of names (``links.arm.rod.length``).
    expected, got : str
        What would have been accepted, and what came instead.
    hint : str, optional
        What to try.
    """

    def __init__(self, where: str, expected: str, got: str, hint: str = "") -> None:
        self.where, self.expected, self.got, self.hint = where, expected, got, hint
        super().__init__(str(self))

    def __str__(self) -> str:
        tail = f"; {self.hint}" if self.hint else ""
        return printable(f"{self.where}: expected {self.expected}, got {self.got}{tail}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.where, self.expected, self.got, self.hint)

    def inside(self, parent: str) -> _Described:
        """Return the same error with ``parent`` put in front of the path of the object."""
        dot = "" if not self.where or self.where.startswith("[") else "."
        return type(self)(f"{parent}{dot}{self.where}", self.expected, self.got, self.hint)


class InputError(_Described, ValueError):
    """An argument of a public function has a wrong shape, type or value."""


class UnknownNameError(InputError, KeyError):
    """A result has nothing of that name."""


class ModelError(_Described, ValueError):
    """A description (material, section, rod, tree, actuator...) is not a possible one."""


class PlugInError(_Described, RuntimeError):
    """A plug-in failed in an evaluation: it raised an error, or returned something of another kind.

    No ModelError, which solvers take for a state without a rate: smaller steps do not help.
    """


class ExpressionError(_Described, ValueError):
    """An expression is malformed, too large, or uses a name that is not allowed."""


class FileError(SorosimError):
    """A file cannot be read or written, or its content is wrong.

    Attributes ``file``, ``line`` and ``column`` (1-based, 0 if not known) say where.
    """

    def __init__(self, file: str, message: str, line: int = 0, column: int = 0) -> None:
        self.file, self.message, self.line, self.column = file, message, line, column
        super().__init__(str(self))

    def __str__(self) -> str:
        position = f":{self.line}:{self.column}" if self.line else ""
        return printable(f"{self.file}{position}: {self.message}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.file, self.message, self.line, self.column)


class ConvergenceError(SorosimError):
    """A solver gave up.

    ``partial`` is what it had: an Equilibrium, a Run, a Continuation, coordinates of an assembly, or None. ``report``
    says where it stopped and what is worst there, a `sorosim.analysis.equations.failure.Failure`, or None.
    """

    def __init__(self, message: str, partial: Any = None, report: Any = None) -> None:
        self.partial, self.report = partial, report
        super().__init__(message)


class SorosimWarning(UserWarning):
    """A result can be computed, but the input is probably a mistake: given by `warnings.warn`."""


def warn(message: str) -> None:
    """Give a `SorosimWarning` that names the line which called the package, however deep in it this is."""
    frame, level, package = sys._getframe(1), 2, __name__.partition(".")[0]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, SorosimWarning, stacklevel=level)


KNOWN = "known: "  # how a list of all names begins, where none is near
N_SHOWN = 12  # names of such a list


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint that lists the nearest known names, or, if none is near, all of them, the most alike first."""
    names = [str(k) for k in known]
    if not names:
        return "there are none"
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    first = sorted(names, key=lambda known: -_likeness(str(name), known))  # in their order where none is like it
    shown = ", ".join(first[:N_SHOWN]) + (", ..." if len(names) > N_SHOWN else "")
    return f"{KNOWN}{shown}"


def _likeness(name: str, known: str) -> float:
    """How much a known name, or a word of it, is like another one: 0 for less than half, else up to 1."""
    words = {known, *re.split(r"[^0-9A-Za-z]+", known)}
    asked = {name, *re.split(r"[^0-9A-Za-z]+", name)} - {""}
    best = max((difflib.SequenceMatcher(None, a, b).ratio() for a in asked for b in words), default=0.0)
    return best if best > 0.5 else 0.0


class ByName(dict[str, T]):
    """What a result holds by names; of a name that it does not hold it tells the nearest (UnknownNameError)."""

    def __init__(self, where: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self.where = where

    def __missing__(self, name: object) -> T:
        raise UnknownNameError(self.where, "a name that is there", f"{name!r}", nearest(str(name), self))


class Interrupted(KeyboardInterrupt):
    """A run, a sweep or a continuation was interrupted (Ctrl-C). ``partial`` is what there is up to there."""

    def __init__(self, message: str, partial: Any = None) -> None:
        self.partial = partial
        super().__init__(message)
