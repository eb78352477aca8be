"""The doctor: plausibility checks of a robot before it runs.

Each module examines one kind of thing. A check is a function of a `CheckContext` that yields `Finding`s; a new one is
listed in CHECKS, and what it may find in `findings.yaml`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sorosim.base.errors import InputError, ModelError, PlugInError, SorosimError
from sorosim.base.ode import one_blas_thread
from sorosim.base.public import public
from sorosim.mechanics.robot import Robot, check_robot
from sorosim.studies.doctor.actuators import actuators, inputs
from sorosim.studies.doctor.bodies import bodies, gravity, link_mass, masses, placement
from sorosim.studies.doctor.contacts import contacts
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.derivatives import derivatives
from sorosim.studies.doctor.discretisation import discretisation
from sorosim.studies.doctor.equilibrium import equilibrium, locked, motions
from sorosim.studies.doctor.findings import LEVELS, NOTE, NOTHING_ODD, ODD, OK, WRONG, Finding, finding
from sorosim.studies.doctor.joints import driven, joints, loops
from sorosim.studies.doctor.loads import fluids, loads, springs
from sorosim.studies.doctor.quadrature import quadrature, sampled
from sorosim.studies.doctor.rods import beyond_numbers, materials, rods, shapes, siblings
from sorosim.studies.doctor.runs import runs, signals
from sorosim.studies.doctor.tubes import tube_sections, tubes

__all__ = ["LEVELS", "NOTE", "NOTHING_ODD", "ODD", "OK", "WRONG", "Finding", "examine", "link_mass"]

# of the description and of single states; and what computes equilibria, which need a robot that can move at all
CHECKS = (
    materials, rods, tubes, siblings, quadrature, gravity, bodies, placement, masses, joints, driven, shapes, loops,
    actuators, inputs, loads, springs, fluids, contacts, sampled, signals, derivatives,
)  # fmt: skip
CHECKS_OF_MOTION = equilibrium, locked, motions, discretisation, tube_sections, runs


@public
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
        (level, where, what, remedy, value, unit, code), at least one for each kind of check. Levels are "ok", "note"
        (worth knowing), "odd" (probably not meant) and "wrong" (cannot be right: it will not run, or its results are
        none). Where something is wrong, equilibria are not looked for.

    Raises
    ------
    FileError, ModelError
        There is no start: rods that cannot pass through their points, or loops that cannot be closed there.
    """
    context = CheckContext(check_robot(robot))
    _ = robot.initial_q  # shapes that cannot be found are an error, as what cannot be loaded
    checks = CHECKS + CHECKS_OF_MOTION
    with one_blas_thread(), np.errstate(all="ignore"):
        findings = list(beyond_numbers(context))
        only = (materials, rods) if findings else () if context.can_be_driven else (materials, rods, driven)
        for k, check in enumerate(checks):
            if k == len(CHECKS) and any(one.level == WRONG for one in findings):
                break
            if only and check not in only:
                continue
            name = check.__name__
            if progress is not None:
                progress(name, k + 1, len(checks))
            try:
                findings += list(check(context)) or [finding("nothing_odd", name)]
            except (ModelError, InputError, PlugInError) as error:
                hint = f"{error.hint}; or look" if error.hint else "look"
                words = f"{error.got}: expected {error.expected}"
                findings.append(finding("refused", error.where or name, words=words, hint=hint))
            except (SorosimError, np.linalg.LinAlgError) as error:
                findings.append(finding("not_checked", name, words=str(error).rstrip(".")))
    # NaN and infinity are left out: JSON has none
    return [f if f.value is None or np.isfinite(f.value) else f._replace(value=None) for f in findings]
