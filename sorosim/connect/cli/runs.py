"""Commands that move a robot or find an equilibrium."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from sorosim.base.errors import ConvergenceError, InputError, Interrupted
from sorosim.base.options import SimulateArguments, StaticsArguments
from sorosim.connect.cli import options as opt
from sorosim.connect.cli.compilation import compile_engine
from sorosim.connect.cli.console import as_json, err, facts, line, progress
from sorosim.connect.cli.inputs import check_summaries, resumed, signals, summaries_of, values
from sorosim.connect.cli.sources import at_rest, load_robot, result_kind
from sorosim.connect.cli.summaries import driven_facts, outputs_of, position, run_facts, run_summary, stable_words

_PROGRESS = "t = {done:.4g} of {total:g} s, {rate:.2g} times real time"
_FROM_FILE = "that of the file"


def _report(run: Any, path: Path, json: bool, numbers: Mapping[str, Any] | None = None) -> None:
    summary = run_summary(run, path, numbers)
    if summary["accuracy"]:  # of time; that of space beside it
        from sorosim.studies.doctor.discretisation import tip_words

        summary["accuracy"]["discretisation"] = tip_words(run.robot)
    as_json(summary) if json else facts(run.robot.name, run_facts(summary))


def _save_start(error: Any, robot: Any, path: Path) -> None:
    """Write the state in which the search for a start stopped; a file that is there stays as it is."""
    from sorosim.analysis.results.result import Equilibrium

    state = error.partial
    if not isinstance(state, Equilibrium):
        state = at_rest(robot, state, "where it stopped")
    saved = path.with_name(f"{path.stem}_stopped.h5") if path.exists() else path
    state.save(saved)
    line(f"where it stopped is in {saved}; `sorosim play {saved}` shows it", err)


def _integrate(
    run: Callable[[Any], Any], robot: Any, path: Path, json: bool, t_end: float | None,
    numbers: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Call `run(progress)`; report the content of the file, also after an error."""
    from sorosim.analysis.results.result import Run

    try:
        with progress("simulating") as report:
            result = run(None if not t_end else lambda t: report(t, t_end, _PROGRESS))
    except (ConvergenceError, Interrupted) as error:
        partial = error.partial
        if isinstance(error, Interrupted):
            line(str(error), err)
        if partial is not None and not isinstance(partial, Run):
            _save_start(error, robot, path)
        if isinstance(partial, Run) and len(partial.t):
            if json:
                _report(partial, path, json)
            line(f"what there is, up to t = {partial.t[-1]:g} s, is in {path}", err)
        raise
    _report(result, path, json, numbers)


@opt.with_options(
    SimulateArguments,
    "t_end dt_out q0 method * checkpoint max_steps max_wall_time verify",
    _FROM_FILE,
)
def simulate(
    robot: opt.RobotArgument,
    u: opt.SignalOption = None,
    driven: opt.MotionOption = None,
    changes: opt.SetOption = None,
    *,
    options: dict[str, Any],
    output: Annotated[
        Path | None,
        opt.ResultFile(
            help="HDF5 file to write, .h5; default: the name of the robot's file, here. One that is there is replaced."
        ),
    ] = None,
    summary: opt.SummaryOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Move a robot and write the result.

    A killed run leaves its journal beside the result file; the other commands open it, and 'resume' continues it.

    Example: sorosim simulate cable_manipulator --t-end 5 --u "cable1=5*(1-cos(pi*t))" --out run.h5
    """
    import sorosim

    loaded = load_robot(robot, changes)
    path = output or Path(f"{Path(robot).stem}.h5")
    inputs, motions = signals(loaded, u, driven)
    block = loaded.description.simulate
    t_end, numbers = options["t_end"] or block.get("t_end"), summaries_of(summary)
    check_summaries(loaded, numbers, motions, t_end)
    compile_engine(loaded, options["method"] or block.get("method"))
    _integrate(
        lambda report: sorosim.simulate(loaded, u=inputs, driven=motions, progress=report, out=path, **options),
        loaded, path, json, t_end, numbers,
    )  # fmt: skip


@opt.with_options(SimulateArguments, "t_end max_steps max_wall_time", "as before")
def resume(
    result: opt.ResultArgument,
    u: Annotated[
        list[str] | None,
        opt.Assignment(
            "--u",
            help="Input of an actuator, a number or an expression of t; may come again. Others stay as they were.",
        ),
    ] = None,
    *,
    options: dict[str, Any],
    output: Annotated[Path | None, opt.ResultFile(help="HDF5 file to write, .h5; default: the same.")] = None,
    json: opt.JsonOption = False,
) -> None:
    """Go on with a run that was interrupted or killed, or to a later end.

    Example: sorosim resume run.h5 --t-end 20
    """
    import sorosim
    from sorosim.analysis.results.result import Run

    before = sorosim.open(result)
    if not isinstance(before, Run):
        kind, _ = result_kind(before)
        hint = "sorosim sweep FILE --resume" if kind == "a sweep" else ""
        raise InputError(str(result), "the file of a run", f"that of {kind}", hint)
    path, inputs = output or result, resumed(before, u)
    compile_engine(before.robot, before.options.get("method"))
    _integrate(
        lambda report: sorosim.resume(before, u=inputs, progress=report, out=path, **options),
        before.robot, path, json, options["t_end"] or before.options["t_end"],
    )  # fmt: skip


@opt.with_options(StaticsArguments, "stable jacobian", _FROM_FILE)
def statics(
    robot: opt.RobotArgument,
    u: opt.InputOption = None,
    driven: opt.DrivenOption = None,
    changes: opt.SetOption = None,
    *,
    options: dict[str, Any],
    output: opt.ResultOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Find an equilibrium.

    Example: sorosim statics cable_manipulator --u cable1=10 --out equilibrium.h5
    """
    import sorosim
    from sorosim.base.writing import reserved

    loaded = load_robot(robot, changes)
    inputs, motions = values(loaded, u, driven)
    compile_engine(loaded)
    with reserved(output):
        try:
            result = sorosim.statics(loaded, inputs, driven=motions, **options)
        except ConvergenceError as error:
            if output and error.partial is not None:
                error.partial.save(output)
                line(f"where it stopped is in {output}", err)
            raise
        if output:
            result.save(output)
    is_large = result.stiffness is None  # then the solver tells of stability
    if json:
        names = ("message", "n_evaluations", "residual_norm", *(() if is_large else ("stable", "stability")))
        content = {"robot": loaded.name} | {name: getattr(result, name) for name in names}
        as_json(
            content | {"outputs": outputs_of(loaded, result.q), "q": result.q, "driven": result.driven, "file": output}
        )
        return
    rows = {
        "solver": f"{result.message}, {result.n_evaluations} evaluations",
        "residual": f"{result.residual_norm:.2g}",
        **({} if is_large else {"stable": stable_words(result)}),
        **{name: position(p) for name, p in outputs_of(loaded, result.q).items()},
    }
    facts(loaded.name, rows | driven_facts(result) | ({"written": str(output)} if output else {}))
