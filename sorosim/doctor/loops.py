"""Loops: open at the start, conflicting, redundant, or leaving nothing free."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sorosim.doctor.driven import possible
from sorosim.doctor.finding import NOTE, ODD, OK, WRONG, Finding
from sorosim.doctor.patient import Patient
from sorosim.engine.inputs import Partition
from sorosim.equations.system import independent_rows
from sorosim.equilibria.assembly import close, open_loops
from sorosim.errors import ConvergenceError

Array = NDArray[np.float64]

OPEN = 1e-6  # of the extent of a loop, or rad


def loops(patient: Patient) -> Iterator[Finding]:
    """All loops where the robot starts."""
    robot, description = patient.robot, patient.robot.description
    if not robot.loop_names:
        yield Finding(OK, "loops", "none")
        return
    q = robot.initial_q
    motions = (
        (description.simulate.get("driven") or description.statics.get("driven") or {}) if possible(patient) else {}
    )
    partition = Partition.of(robot.engine.layout, motions, description.actuators)
    if left := open_loops(robot, q, OPEN):
        yield from _open(patient, left, partition)
    A = robot.loop_rows(q).A
    free = partition.free
    rank = len(independent_rows(robot, A[:, free]))
    loops = f"{len(robot.loop_names)} loop" + "s" * (len(robot.loop_names) > 1)
    rows = f"{len(A)} conditions of {loops}, {rank} of them independent at the start"
    if beyond := _redundant(patient, A[:, free]):
        words = ", ".join(f"{n} of '{name}'" for name, n in beyond.items())
        what = f"{rows}; what depends on the others: {words}"
        remedy = (
            "motions are right, forces within such conditions are the smallest ones that do; looser joints end that"
        )
        yield Finding(NOTE, "loops", what, remedy, float(len(A) - rank))
    beside = f" beside {len(motions)} that are driven" if motions else ""
    if rank >= len(free):
        driven_whole = bool(motions) and rank == len(independent_rows(robot, A))
        what = f"{rows}; they leave no freedom to {len(free)} coordinates{beside}"
        yield Finding(
            NOTE if driven_whole else ODD, "loops", what, "" if driven_whole else "free a strain or a joint", 0.0
        )
    elif not beyond:
        yield Finding(OK, "loops", rows, value=float(len(free) - rank))


def _open(patient: Patient, left: str, partition: Partition) -> Iterator[Finding]:
    robot = patient.robot
    q = robot.initial_q
    assembles = robot.description.simulate.get("q0") in ("assembled", "equilibrium")
    try:
        close(robot, q, np.zeros_like(q), partition.free)
    except ConvergenceError as error:
        what = str(error).split("; look at")[0]
        remedy = "look at the poses of the frames that it joins, and at the lengths in between; or free a joint"
        yield Finding(WRONG, _first_loop(robot.loop_names, what), what, remedy)
        return
    where = _first_loop(robot.loop_names, left)
    if assembles:
        yield Finding(NOTE, where, f"open at the start: {left}", "q0 of the simulate block closes it")
    else:
        remedy = "q0: assembled starts from the nearest closed state"
        yield Finding(ODD, where, f"open at the start: {left}", remedy)


def _first_loop(names: tuple[str, ...], words: str) -> str:
    found = [name for name in names if f"'{name}'" in words]
    return f"loops.{found[0]}" if len(found) == 1 else "loops"


def _redundant(patient: Patient, A: Array) -> dict[str, int]:
    """How many conditions of each loop depend on those of the loops before it and its own."""
    robot, counts, before = patient.robot, {}, 0
    rows = robot.engine.closed.rows
    end = 0
    for name in robot.loop_names:
        end = rows[name].stop
        # dependence is judged as for all loops: rows that are not looked at yet count as zero
        part = np.where((np.arange(len(A)) < end)[:, None], A, 0.0)
        rank = len(independent_rows(robot, part))
        if missing := rows[name].stop - rows[name].start - (rank - before):
            counts[name] = missing
        before = rank
    return counts
