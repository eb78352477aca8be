"""What --u and --driven prescribe: values with units as in files, which replace those of the file by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sorosim.base.errors import InputError
from sorosim.connect.cli.options import SUMMARY, assignments

U, DRIVEN = "--u", "--driven"

Parser = Callable[[str, Any, str], Any]  # of an option, its text, and the dimension that it must have


def signals(robot: Any, u: list[str] | None, driven: list[str] | None) -> tuple[Any, Any]:
    """Inputs and motions of a run; None where the command line has none."""
    from sorosim.mechanics.engine.prescribed import signal_of

    return _merged(robot, u, driven, robot.description.simulate, signal_of)


def values(robot: Any, u: list[str] | None, driven: list[str] | None) -> tuple[Any, Any]:
    """Inputs and driven coordinates of an equilibrium; None where the command line has none."""
    from sorosim.mechanics.engine.prescribed import number_of

    return _merged(robot, u, driven, robot.description.statics, number_of)


def resumed(run: Any, u: list[str] | None) -> dict[str, Any] | None:
    """Inputs of a resumed run; None if the command line has none."""
    from sorosim.analysis.results.result import stored_signals

    new: dict[str, Any] | None = signals(run.robot, u, None)[0]
    # a controller, which no file keeps, gives all inputs
    if new is None or run.options.get("dt_control") is not None:
        return new
    return stored_signals({name: spec for name, spec in run.options["u"].items() if name not in new}, U) | new


def summaries_of(summary: list[str] | None) -> dict[str, Any]:
    """Summaries as a file writes them: NAME={mean: QUANTITY, after: TIME}."""
    from sorosim.files.yaml_reader import read_text

    given = assignments(summary, SUMMARY, "'speed={rate: arm.x, after: 2 s}'") or {}
    return {name: read_text(f"x: {text}\n", SUMMARY).data["x"] for name, text in given.items()}


def check_summaries(robot: Any, given: Mapping[str, Any], driven: Any, t_end: float | None) -> None:
    """Refuse summaries of what a run of the robot does not have, before it is computed."""
    from sorosim.mechanics.quantities import quantities, summaries_of, tips

    names = robot.description.simulate.get("driven", {}) if driven is None else driven
    summaries_of(SUMMARY, given, quantities(robot, tuple(names), tips(robot)), t_end)


def frame(where: str, text: str) -> Any:
    """The frame on a link that a text names: LINK, LINK@S, or with an offset in the frame there LINK@S:X,Y,Z."""
    import sorosim

    rest, _, offset = text.partition(":")
    link, at, s = (part.strip() for part in rest.partition("@"))
    try:
        fraction = float(s) if at else 1.0
    except ValueError:
        raise InputError(where, "LINK, LINK@S or LINK@S:X,Y,Z", f"'{text}'") from None
    if not at and not offset:
        return link
    parts = [part.strip() for part in offset.split(",")] if offset else ["0", "0", "0"]
    try:
        return sorosim.Anchor(link, s=fraction, at={"position": parts})
    except sorosim.ModelError as error:
        raise InputError(where, error.expected, error.got, error.hint) from None


def frames(texts: list[str] | None, option: str) -> dict[str, Any]:
    """Frames on links by name."""
    return {
        name: frame(f"{option} {name}", text) for name, text in (assignments(texts, option, "tip=arm") or {}).items()
    }


def pairs(texts: list[str] | None, option: str, example: str) -> dict[str, tuple[Any, Any]] | None:
    """Pairs of values by name; an empty one is open."""
    out: dict[str, tuple[Any, Any]] = {}
    for name, text in (assignments(texts, option, example) or {}).items():
        low, comma, high = (part.strip() for part in text.partition(","))
        if not comma:
            raise InputError(f"{option} {name}", "two values with a comma between", f"'{text}'")
        out[name] = low or None, high or None
    return out or None


def _merged(
    robot: Any, u: list[str] | None, driven: list[str] | None, block: Mapping[str, Any], parse: Parser
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Inputs and driven coordinates of the command line, then those of the file's block that it does not name."""
    from sorosim.mechanics.engine.inputs import dimension_of
    from sorosim.mechanics.engine.prescribed import merged

    layout = robot.engine.layout
    inputs, motions = assignments(u, U, "cable1=10"), assignments(driven, DRIVEN, "joint1=0.2")
    if inputs is not None:
        kinds = {name: dimension_of(robot.input_dimensions, name, U) for name in inputs}
        inputs = {**block.get("u", {}), **{name: parse(f"{U} {name}", inputs[name], kinds[name]) for name in kinds}}
    if motions is not None:
        kinds = {name: layout.dimensions[layout.coordinate(name, DRIVEN)] for name in motions}
        given = {name: parse(f"{DRIVEN} {name}", motions[name], kind) for name, kind in kinds.items()}
        motions = merged(layout, block.get("driven", {}), given)
    return inputs, motions
