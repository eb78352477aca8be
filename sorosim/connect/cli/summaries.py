"""What results come down to: plain data for --json, and names and values for people."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sorosim.base.errors import SorosimError, SorosimWarning
from sorosim.base.validation import counted
from sorosim.connect.cli.console import err, facts, line, out
from sorosim.connect.cli.options import SUMMARY

COUNTS = {"n_steps": "step", "n_rhs": "evaluation", "n_jacobian": "Jacobian", "n_factorizations": "factorization"}
SPECIAL_POINTS = {"fold": "fold", "branch": "branch point", "flutter": "flutter", "stability": "stability"}
MAX_FAILURES = 3  # of a sweep, that are printed


# runs that are no motions
SHOWN = {"mode": "a mode", "inverse": "equilibria one after the other"}


def position(p: Any) -> str:
    """A place in the world, in millimetres."""
    return ", ".join(f"{round(1e3 * x, 3) + 0.0:.3f}" for x in p) + " mm"  # no minus before zeros


def outputs_of(robot: Any, q: Any) -> dict[str, Any]:
    """Positions (3,) of the outputs of a robot by what they are called."""
    return dict(zip(robot.outputs.points, robot.outputs.poses(q)[:, :3, 3], strict=True))


def run_summary(run: Any, path: Path | None, numbers: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A run as plain data; `numbers` are the summaries that were asked for."""
    from sorosim.mechanics.quantities import summarized

    energy, found = run.energy(), summarized(run, SUMMARY, numbers or {})
    driven = {name: force for name, force in run.driven.items() if len(force)}
    return {
        "robot": run.robot.name,
        "t_end": float(run.t[-1]) if len(run.t) else 0.0,
        "method": run.options["method"],
        "message": run.message,
        "stats": dict(run.stats),
        "energy_error": float(np.abs(energy.balance).max(initial=0.0)),
        "energy_moved": energy.turnover,
        "accuracy": None if run.companion is None else _accuracy(run.accuracy),
        "outputs": outputs_of(run.robot, run.q[-1]) if len(run.t) else {},
        "driven": {name: float(force[-1]) for name, force in driven.items()},
        "driven_largest": {name: float(np.abs(force).max()) for name, force in driven.items()},
        "driven_units": dict(zip(run.driven, run.robot.driven_units(run.driven), strict=True)),
        "summary": {name: number for name, (number, _) in found.items()},
        "summary_units": {name: unit for name, (_, unit) in found.items()},
        "file": str(path) if path else None,
    }


def _accuracy(accuracy: Any) -> dict[str, Any]:
    """The same as plain data; the error of the discretisation is known to who checks the robot."""
    known = accuracy.error[np.isfinite(accuracy.error)]
    parts_at = accuracy.parts_at if np.isfinite(accuracy.parts_at) else None
    return {
        "error": float(known.max(initial=0.0)), "way": accuracy.way, "parts_at": parts_at, "against": accuracy.how,
        "words": str(accuracy), "discretisation": "",
    }  # fmt: skip


def run_facts(summary: Mapping[str, Any]) -> dict[str, str]:
    """The same for people."""
    stats, end = summary["stats"], summary["t_end"]
    wall = stats.get("wall_time")
    counts = [counted(stats[key], label) for key, label in COUNTS.items() if key in stats]
    rows = {
        "simulated": f"{end:g} s" + (f" in {wall:.2f} s, {end / wall:.1f} times real time" if wall else ""),
        "integrator": ": ".join([summary["method"], *filter(None, [", ".join(counts)])]),
        "energy balance": f"off by at most {summary['energy_error']:.2g} J of {summary['energy_moved']:.2g} J moved",
    }
    if summary["accuracy"]:
        rows["accuracy"] = "; ".join(
            filter(None, [summary["accuracy"]["words"], summary["accuracy"]["discretisation"]])
        )
    if summary["method"] in SHOWN:  # nothing was integrated, and its energy is none
        rows = {"shown": f"{end:g} s of {SHOWN[summary['method']]}"}
    units = summary["driven_units"]
    if loads := [f"{force:.4g} {units[name]} at {name}" for name, force in summary["driven_largest"].items()]:
        rows["driven"] = "needed at most " + ", ".join(loads)
    rows |= {f"{name} at the end": position(p) for name, p in summary["outputs"].items()}
    of = summary["summary_units"]
    rows |= {name: f"{value:.6g} {of[name]}".rstrip(" -") for name, value in summary["summary"].items()}
    if summary["file"]:
        rows["written"] = summary["file"]
    return rows


def driven_facts(equilibrium: Any) -> dict[str, str]:
    """Forces and moments that driven coordinates need in an equilibrium."""
    units = equilibrium.robot.driven_units(equilibrium.driven)
    forces = equilibrium.driven.items()
    return {f"needed at {name}": f"{force:.6g} {unit}" for (name, force), unit in zip(forces, units, strict=True)}


def stable_words(equilibrium: Any) -> str:
    """Whether it is stable, and which motions no force opposes."""
    if not equilibrium.stable:
        return f"no: {equilibrium.stability}"
    motions = equilibrium.neutral_motions if equilibrium.stability == "neutral" else ()
    free = ", ".join(f"'{one.name}'" for one in motions if one.goes_on)
    critical = ", ".join(f"'{one.name}'" for one in motions if not one.goes_on)
    return "yes" + f", but nothing holds {free}" * bool(free) + f", but critical in {critical}" * bool(critical)


def stability(state: Any) -> str:
    """Whether an equilibrium is stable; a file may also hold where the search for one stopped."""
    from sorosim.analysis.equilibria.assembly import open_loops
    from sorosim.analysis.equilibria.statics import LOOP_TOLERANCE

    with warnings.catch_warnings():
        warnings.simplefilter("error", SorosimWarning)
        try:
            if left := open_loops(state.robot, state.q, 1e3 * LOOP_TOLERANCE):
                return f"no equilibrium, {left} open"
            if state.stiffness is None:
                return f"not computed: {state.message}"
            return stable_words(state)
        except (SorosimWarning, SorosimError):
            return "no equilibrium, the search for one stopped here"


def sweep_summary(result: Any) -> dict[str, Any]:
    """A sweep as plain data."""
    return {
        "robot": result.robot.name,
        "task": result.plan.command,
        "points": len(result),
        "parameters": dict(zip(result.names, result.units, strict=True)),
        "ok": int(result.ok.sum()),
        "failed": {str(i): why for i, why in result.failed.items()},
        "pending": int((result.status == "pending").sum()),
        "columns": list(result.columns),
        "options": dict(result.plan.options),
        "start": result.plan.start,
        "block": result.plan.block,
    }


def sweep_facts(result: Any) -> dict[str, str]:
    """The same for people."""
    over = [_with_unit(name, unit) for name, unit in zip(result.names, result.units, strict=True)]
    shape = "" if result.shape is None or len(result.shape) == 1 else f" ({' x '.join(map(str, result.shape))})"
    rows = {"sweep": f"{result.plan.command} at {len(result)} points{shape}", "over": ", ".join(over)}
    counts = {word: int((result.status == word).sum()) for word in ("ok", "failed", "pending")}
    rows["points"] = ", ".join(f"{n} {word}" for word, n in counts.items() if n)
    if "stable" in result.columns and counts["ok"]:
        rows["stable"] = f"{int(result.columns['stable'][result.ok].sum())} of {counts['ok']}"
    rows |= {f"point {i}": why for i, why in list(result.failed.items())[:MAX_FAILURES]}
    if counts["failed"] > MAX_FAILURES:
        rows["..."] = f"and {counts['failed'] - MAX_FAILURES} more that failed"
    return rows


def continuation_summary(result: Any) -> dict[str, Any]:
    """A continuation as plain data."""
    curves = [
        {"n": len(curve), "from": float(curve.parameter[0]), "to": float(curve.parameter[-1]),
         "stable": curve.kind.count("stable"), "message": curve.message, "complete": curve.complete}
        for curve in result.curves()
    ]  # fmt: skip
    fields = {"robot": result.robot.name, "along": result.along, "units": list(result.units.values())}
    return fields | {"curves": curves, "points": result.table()}


def print_continuation(result: Any, more: Mapping[str, str] | None = None) -> None:
    """The same for people, with a table of special points."""
    from rich.table import Table

    rows = {}
    for k, curve in enumerate(result.curves()):
        span = f"{curve.parameter[0]:.6g} to {curve.parameter[-1]:.6g}"
        n = f"{len(curve)} equilibria, {curve.kind.count('stable')} of them stable"
        rows["curve 0" if k == 0 else f"branch {k}"] = f"{span}: {n}; {curve.message}"
    along = ", ".join(_with_unit(name, unit) for name, unit in result.units.items())
    facts(result.robot.name, {"along": along, **rows, **(more or {})})
    if points := result.table():
        table = Table("curve", "point", "parameter", "grow before", "after", "", title_justify="left", box=None)
        for point in points:
            frequency = f"{point['frequency']:.6g} Hz" if "frequency" in point else ""
            grow = [str(point.get(name, "")) for name in ("unstable_before", "unstable_after")]
            kind = SPECIAL_POINTS[point["kind"]]
            table.add_row(str(point["curve"]), kind, f"{point['parameter']:.8g}", *grow, frequency)
        out().print(table)
    else:
        out().print("no special points")
    if any(not curve.complete for curve in result.curves()):
        line("not all curves end where they should: try more points, or another step", err)


def _with_unit(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name
