"""The doctor: says of a robot, before it runs, what a careful colleague would say.

Each module looks at one kind of thing. A check is a function of a `Patient` that yields `Finding`s; a new one is listed
in CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sorosim.doctor.actuators import actuators
from sorosim.doctor.contacts import contacts
from sorosim.doctor.derivatives import derivatives
from sorosim.doctor.discretisation import discretisation
from sorosim.doctor.driven import driven, possible
from sorosim.doctor.finding import LEVELS, NOTE, ODD, OK, WRONG, Finding
from sorosim.doctor.fluids import fluids
from sorosim.doctor.inputs import inputs
from sorosim.doctor.joints import joints
from sorosim.doctor.loads import loads
from sorosim.doctor.locked import locked
from sorosim.doctor.loops import loops
from sorosim.doctor.masses import gravity, link_mass, masses, solids
from sorosim.doctor.materials import materials
from sorosim.doctor.patient import Patient
from sorosim.doctor.placement import placement
from sorosim.doctor.quadrature import quadrature
from sorosim.doctor.rest import equilibrium, motions
from sorosim.doctor.rods import beyond_numbers, rods, siblings
from sorosim.doctor.runs import runs
from sorosim.doctor.sampled import sampled
from sorosim.doctor.signals import signals
from sorosim.doctor.springs import springs
from sorosim.errors import InputError, ModelError
from sorosim.robot import Robot, check_robot
from sorosim.solvers.base import one_blas_thread

__all__ = ["LEVELS", "NOTE", "NOTHING_ODD", "ODD", "OK", "WRONG", "Finding", "examine", "link_mass"]

NOTHING_ODD = "nothing looks odd"

# of the description and of single states; and what computes equilibria, which need a robot that can move at all
CHECKS = (
    ("materials", materials), ("rods", rods), ("siblings", siblings), ("quadrature", quadrature),
    ("gravity", gravity), ("bodies", solids), ("placement", placement), ("masses", masses), ("joints", joints),
    ("driven", driven), ("loops", loops), ("actuators", actuators), ("inputs", inputs), ("loads", loads),
    ("springs", springs), ("fluids", fluids), ("contacts", contacts), ("sampled", sampled),
    ("signals", signals),
    ("derivatives", derivatives),
)  # fmt: skip
CHECKS_OF_MOTION = (
    ("equilibrium", equilibrium), ("locked", locked), ("motions", motions), ("discretisation", discretisation),
    ("runs", runs),
)  # fmt: skip


def examine(robot: Robot, *, progress: Callable[[str, int, int], None] | None = None) -> list[Finding]:
    """Look a robot over.

    Parameters
    ----------
    robot : Robot
    progress : callable, optional
        progress(name, k, n) is called before check k of n, from 1.

    Returns
    -------
    list of Finding
        (level, where, what, remedy, value, unit), at least one for each kind of check. Levels are "ok", "note" (worth
        knowing), "odd" (probably not meant) and "wrong" (cannot be right: it will not run, or its results are none).
        Where something is wrong, equilibria are not looked for.
    """
    patient = Patient(check_robot(robot))
    findings: list[Finding] = []
    with one_blas_thread(), np.errstate(all="ignore"):
        findings += beyond_numbers(patient)
        only = ("materials", "rods") if findings else () if possible(patient) else ("materials", "rods", "driven")
        for k, (name, check) in enumerate(CHECKS + CHECKS_OF_MOTION):
            if k == len(CHECKS) and any(finding.level == WRONG for finding in findings):
                break
            if only and name not in only:
                continue
            if progress is not None:
                progress(name, k + 1, len(CHECKS + CHECKS_OF_MOTION))
            try:
                findings += list(check(patient)) or [Finding(OK, name, NOTHING_ODD)]
            except (ModelError, InputError) as error:
                remedy = f"{error.hint}; or look at what is odd above" if error.hint else "look at what is odd above"
                findings.append(Finding(WRONG, error.where or name, f"{error.got}: expected {error.expected}", remedy))
    # what is no number is left out: JSON has no word for it
    return [f if f.value is None or np.isfinite(f.value) else f._replace(value=None) for f in findings]
