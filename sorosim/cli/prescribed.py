"""What --u and --driven prescribe: values with units as in files, which go before those of the file by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sorosim.cli.options import assignments
from sorosim.errors import ExpressionError, InputError, ModelError, nearest
from sorosim.units.table import OF_INPUT

U, DRIVEN = "--u", "--driven"


def signals(robot: Any, u: list[str] | None, driven: list[str] | None) -> tuple[Any, Any]:
    """Inputs and motions of a run; None where the command line says nothing."""
    from sorosim.declare import formula_or_quantity
    from sorosim.signals import as_signal

    def read(text: str, dimension: str) -> Any:
        return as_signal(formula_or_quantity(text, dimension, ("t",)))

    return _both(robot, u, driven, robot.description.simulate, read)


def values(robot: Any, u: list[str] | None, driven: list[str] | None) -> tuple[Any, Any]:
    """Inputs and held coordinates of an equilibrium; None where the command line says nothing."""
    from sorosim.units.quantity import quantity

    return _both(robot, u, driven, robot.description.statics, quantity)


def resumed(run: Any, u: list[str] | None) -> dict[str, Any] | None:
    """Inputs with which a run goes on; None where the command line says nothing."""
    from sorosim.signals import as_signal
    from sorosim.units.table import unit_factor

    said: dict[str, Any] | None = signals(run.robot, u, None)[0]
    # a controller, which no file keeps, gives all inputs
    if said is None or run.options.get("dt_control") is not None:
        return said
    kept = {name: spec for name, spec in run.options["u"].items() if name not in said}
    lost = [name for name, spec in kept.items() if spec is None]
    if lost:
        raise InputError(U, f"the input '{lost[0]}' too", "none", "it was a Python function, which no file keeps")
    return {name: as_signal(spec, name, unit_factor) for name, spec in kept.items()} | said


def _both(
    robot: Any, u: list[str] | None, driven: list[str] | None, block: Mapping[str, Any], read: Callable[[str, str], Any]
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    inputs, moved = _read(robot, u, U, read), _read(robot, driven, DRIVEN, read)
    if inputs is not None:
        inputs = {**block.get("u", {}), **inputs}
    if moved is not None:
        # one coordinate may have two names: that of its link, and its own
        coordinate = robot.engine.layout.coordinate
        said = {coordinate(name, DRIVEN) for name in moved}
        rest = {name: x for name, x in block.get("driven", {}).items() if coordinate(name, DRIVEN) not in said}
        moved = rest | moved
    return inputs, moved


def _read(robot: Any, pairs: list[str] | None, option: str, read: Callable[[str, str], Any]) -> dict[str, Any] | None:
    given = assignments(pairs, option, "cable1=10" if option == U else "joint1=0.2")
    if given is None:
        return None
    found = {}
    for name, text in given.items():
        dimension = _input_dimension(robot, name) if option == U else _driven_dimension(robot, name)
        try:
            found[name] = read(text, dimension)
        except (ModelError, ExpressionError, InputError) as error:
            raise InputError(f"{option} {name}", error.expected, error.got, error.hint) from None
    return found


def _input_dimension(robot: Any, name: str) -> str:
    units = dict(zip(robot.actuator_names, robot.actuator_units, strict=True))
    if name not in units:
        raise InputError(U, "the name of an actuator", f"'{name}'", nearest(name, units))
    return OF_INPUT.get(units[name], "number")


def _driven_dimension(robot: Any, name: str) -> str:
    layout = robot.engine.layout
    dimension: str = layout.dimensions[layout.coordinate(name, DRIVEN)]
    return dimension
