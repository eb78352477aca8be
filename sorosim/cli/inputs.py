"""What --u and --driven prescribe: values with units as in files, which replace those of the file by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sorosim.cli.options import assignments
from sorosim.errors import ExpressionError, InputError, ModelError, nearest
from sorosim.units.table import OF_INPUT

U, DRIVEN = "--u", "--driven"

Parser = Callable[[str, str], Any]  # of a text, and the dimension that it must have


def signals(robot: Any, u: list[str] | None, driven: list[str] | None) -> tuple[Any, Any]:
    """Inputs and motions of a run; None where the command line has none."""
    from sorosim.declare import formula_or_quantity
    from sorosim.signals import as_signal

    def parse(text: str, dimension: str) -> Any:
        return as_signal(formula_or_quantity(text, dimension, ("t",)))

    return _merged(robot, u, driven, robot.description.simulate, parse)


def values(robot: Any, u: list[str] | None, driven: list[str] | None) -> tuple[Any, Any]:
    """Inputs and driven coordinates of an equilibrium; None where the command line has none."""
    from sorosim.units.quantity import quantity

    return _merged(robot, u, driven, robot.description.statics, quantity)


def resumed(run: Any, u: list[str] | None) -> dict[str, Any] | None:
    """Inputs of a resumed run; None if the command line has none."""
    from sorosim.signals import as_signal
    from sorosim.units.table import unit_factor

    new: dict[str, Any] | None = signals(run.robot, u, None)[0]
    # a controller, which no file keeps, gives all inputs
    if new is None or run.options.get("dt_control") is not None:
        return new
    old = {name: spec for name, spec in run.options["u"].items() if name not in new}
    missing = [name for name, spec in old.items() if spec is None]
    if missing:
        raise InputError(U, f"the input '{missing[0]}' too", "none", "it was a Python function, which no file keeps")
    return {name: as_signal(spec, name, unit_factor) for name, spec in old.items()} | new


def _merged(
    robot: Any,
    u: list[str] | None,
    driven: list[str] | None,
    block: Mapping[str, Any],
    parse: Callable[[str, str], Any],
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Inputs and driven coordinates of the command line, then those of the file's block that it does not name."""
    layout, units = robot.engine.layout, dict(zip(robot.actuator_names, robot.actuator_units, strict=True))

    def input_dimension(name: str) -> str:
        if name not in units:
            raise InputError(U, "the name of an actuator", f"'{name}'", nearest(name, units))
        return OF_INPUT.get(units[name], "number")

    def coordinate(name: str) -> int:
        index: int = layout.coordinate(name, DRIVEN)
        return index

    inputs = _parsed(assignments(u, U, "cable1=10"), U, input_dimension, parse)
    motions = _parsed(
        assignments(driven, DRIVEN, "joint1=0.2"), DRIVEN, lambda name: layout.dimensions[coordinate(name)], parse
    )
    if inputs is not None:
        inputs = {**block.get("u", {}), **inputs}
    if motions is not None:
        # one coordinate may have two names: that of its link, and its own
        named = {coordinate(name) for name in motions}
        motions = {name: x for name, x in block.get("driven", {}).items() if coordinate(name) not in named} | motions
    return inputs, motions


def _parsed(
    texts: dict[str, str] | None, option: str, dimension: Callable[[str], str], parse: Parser
) -> dict[str, Any] | None:
    if texts is None:
        return None
    out = {}
    for name, text in texts.items():
        expected = dimension(name)
        try:
            out[name] = parse(text, expected)
        except (ModelError, ExpressionError, InputError) as error:
            raise InputError(f"{option} {name}", error.expected, error.got, error.hint) from None
    return out
