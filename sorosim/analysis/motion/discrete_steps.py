"""Steps of a robot under held inputs: what Stepper, Rollout and Batch have in common (docs/theory.md, 14)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from sorosim.analysis.equations.system import NO_STRAINS, OdeSystem
from sorosim.analysis.motion.march import DONE, RobotMarch
from sorosim.analysis.results.result import Run
from sorosim.base.arrays import Array, IntArray
from sorosim.base.compiled import digest
from sorosim.base.errors import InputError, warn
from sorosim.base.methods import method_of
from sorosim.base.options import StepArguments, checked
from sorosim.base.signals import ConstantSignal, Signal
from sorosim.base.validation import Number
from sorosim.mechanics.engine.engine import Engine
from sorosim.mechanics.engine.inputs import Motion, ZeroOrderHold
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.kernels import discrete_steps as held
from sorosim.mechanics.kernels import march as codes
from sorosim.mechanics.kernels.begins import N_VECTORS, Directions
from sorosim.mechanics.kernels.discrete_steps import Equations
from sorosim.mechanics.kernels.march import March, Rows
from sorosim.mechanics.robot import Robot, check_robot

# of Newton's method where nothing else is said: in steps, and in motions whose derivatives are to be exact
STEP_TOLERANCE, ROLLOUT_TOLERANCE = 1e-8, 1e-11
# shorter steps have less [s]: what each leaves over adds up to N^2 of it in N steps, and has to stay below their error
COARSE_STEP = 2e-3


def step_tolerance(h: float) -> float:
    """Tolerance of Newton's method in steps of h [s]; it falls with h^2, down to that of motions with derivatives."""
    return max(ROLLOUT_TOLERANCE, STEP_TOLERANCE * min(1.0, (h / COARSE_STEP) ** 2))


class DrivenPath(Motion):
    """Motion of driven coordinates by their signals, or by cubics where `Stepper.step` sends them on."""

    def __init__(self, signals: list[Signal], path: Array) -> None:
        super().__init__(signals)
        self.path = path.copy()

    def jets(self, t: float) -> Array:
        """Values and first and second derivatives (n, 3) at time t."""
        out = super().jets(t)
        for row, (sent, begin, q, qd, two, three) in zip(out, self.path.tolist(), strict=True):
            if sent:
                x = t - begin
                row[:] = (
                    q + x * (qd + x * (two + x * three)),
                    qd + x * (2.0 * two + 3.0 * x * three),
                    2.0 * two + 6.0 * x * three,
                )
        return out


class DiscreteSteps(RobotMarch):
    """Steps of one robot under inputs that are held over intervals dt.

    options: the method and its options. Steps of materials that relax change the arrays of `model`, which no two
    threads may share.
    """

    def __init__(
        self, robot: Robot, dt: Number, driven: Mapping[str, object] | None, options: Mapping[str, object], *,
        usual_tolerance: float | None = None,
    ) -> None:  # fmt: skip
        self.robot, self._driven = check_robot(robot), driven
        chosen = checked(StepArguments, {**options, "dt": dt})
        if chosen["dt"] is None:
            raise InputError("dt", "a time [s]", "none")
        self.dt, self.substeps = float(chosen.pop("dt")), int(chosen["substeps"])
        if chosen["tolerance"] is None:
            chosen["tolerance"] = usual_tolerance or step_tolerance(self.dt / self.substeps)
        self.tolerance = chosen["tolerance"]
        self._options = chosen
        system = OdeSystem(robot, Prescribed.of(robot, None, driven, controlled=True))
        super().__init__(system, method_of(chosen))
        self.take_inputs(robot.engine.companion(_no_inputs))
        self.varies = any(not isinstance(one, ConstantSignal) for one in self.system.driven.signals)
        if self.system.n_strains:
            _ = self.settings  # of the model as it is before any step
        self.rough: dict[Any, tuple[str, str, float] | None] = {}  # by windows of time, see `SteppedMotion.prepare`

    def __reduce__(self) -> tuple[object, ...]:  # copies and pickles hold the arguments; arrays are made anew
        options = self._options | {"substeps": self.substeps}
        return partial(DiscreteSteps, self.robot, self.dt, self._driven, options), ()

    @cached_property
    def settings(self) -> tuple[object, ...]:
        """What other steps must have in common with these to go on with the same bits."""
        robot = self.robot if self.in_python else digest(self.model)
        specs = tuple(map(repr, self.system.driven.specs))
        tableau = [np.asarray(part).tolist() for part in self.tableau]
        return robot, self.dt, self.substeps, tableau, self.tolerance, self.driven_names, specs

    @property
    def driven_names(self) -> tuple[str, ...]:
        """Of driven coordinates, as they were given."""
        return self.system.partition.names

    @cached_property
    def shape(self) -> tuple[bytes, ...]:
        """What robots have in common that may share a workspace."""
        tree = self.engine.tree
        return tree.segment.tobytes(), tree.block.tobytes(), tree.local.tobytes()

    def record(self) -> March:
        """A march before its start."""
        march = self.allocate()
        self.set_step(march)
        march.number["rtol"] = march.number["atol"] = self.tolerance / codes.NEWTON
        for name in ("fixed", "held", "fresh", "row", "steps_left"):
            march.counts[name] = 1
        march.counts["external"] = self.in_python
        return march

    def set_step(self, march: March, substeps: int | None = None) -> None:
        """Let a march take so many steps in an interval; here and below None: `substeps`."""
        for name in ("step", "last_step", "previous_step", "target_step", "max_step"):
            march.number[name] = self.dt / (substeps or self.substeps)
        march.counts["factored"] = 0

    def rows(self, n_intervals: int, substeps: int | None = None, members: tuple[int, ...] = ()) -> Rows:
        """Room for the states at the ends of steps, where members are named of each of so many."""
        return self.room(*members, n_intervals * (substeps or self.substeps) + 1)

    def times(self, t: float, n_intervals: int, first: int = 0, substeps: int | None = None) -> Array:
        """Ends of steps of intervals from t on; `first`: how many intervals lie between t and the first of these."""
        n = substeps or self.substeps
        steps = np.arange(float(first * n), (first + n_intervals) * n + 0.5)
        steps *= self.dt / n
        steps += t
        return steps

    def system_at(self, u: Array, path: Array | None = None) -> OdeSystem:
        """The equations of motion under these inputs, driven coordinates moving along a path where it has one."""
        system = copy.copy(self.system)
        system.inputs = ZeroOrderHold(len(u))
        system.inputs.hold(0.0, np.array(u))
        if path is not None and path.any():
            system.driven = DrivenPath(self.system.driven.signals, path)
        return system

    def advance(self, march: March, rows: Rows, inputs: Array, substeps: int | None = None) -> int:
        """Steps to the last of the rows under inputs (N, n_actuators); a code of kernels.march."""
        n = substeps or self.substeps
        if not self.in_python:
            arguments = self.model, march, self.engine.workspace, rows, inputs, n
            return int(self.engine.prepared(held.integrate, arguments)(*arguments))
        if march.counts["row"] == 1:
            held.first_row(march, rows)
        for u in inputs[(march.counts["row"] - 1) // n :]:
            code = self.jump(march, u)
            if code in DONE:
                code = self.step(march, rows, n)
            if code not in DONE:
                return code
        return codes.FINISHED

    def run(
        self, t: Array, q: Array, qd: Array, u: Array, message: str, paths: Sequence[Array] | None = None,
        strain: Array | None = None,
    ) -> Run:  # fmt: skip
        """States (n, ndof) at the ends of intervals as a `Run`; a row has the inputs of the interval that it ends.

        paths: of driven coordinates that were sent on, at each row; strain (n, n_strains): of Maxwell elements.
        """
        rows = []
        for k, time in enumerate(t.tolist()):
            system = self.system_at(u[k], None if paths is None else paths[k])
            rows.append(system.forces(time, system.state(q[k], qd[k], NO_STRAINS if strain is None else strain[k])))
        forces, multipliers = map(np.array, zip(*rows, strict=True))
        driven = dict(zip(self.driven_names, forces.T, strict=True))
        specs = dict(zip(self.driven_names, self.system.driven.specs, strict=True))
        method = f"{self.method.kind} under held inputs"
        options = {"method": method, "step": self.dt / self.substeps, "driven": specs}
        return Run(self.robot, t, q, qd, u, multipliers, driven, {}, options, message, strain=strain)

    def ends(self, n: int) -> IntArray:
        """Rows at which n intervals begin and end."""
        return np.arange(n + 1) * self.substeps

    def equations(self, n: int = 0, rows: int = 0) -> Equations:
        """Room for what numbers change in the equations over n intervals and their rows; 0: nothing."""
        ndof, n_loops, n_strains = self.engine.ndof, self.engine.loop_layout.m, self.system.n_strains
        shapes = (rows, ndof), (rows, n_loops), (rows, n_strains), *((2 * n, ndof), (2 * n, n_loops)) * 2, (2 * n, ndof)
        return Equations._make(map(np.zeros, shapes))

    @cached_property
    def no_changes(self) -> Equations:
        """Tangents of the equations in any directions where no numbers change."""
        return Equations._make(part[..., None] for part in self.equations())

    def directions(self, count: int, n_intervals: int = 1) -> Directions:
        """Room for tangents of so many intervals in `count` directions."""
        ndof, n_loops, n_inputs = self.engine.ndof, self.engine.loop_layout.m, self.engine.n_actuators
        shapes = (N_VECTORS, ndof), (self.system.n_strains,), (n_intervals, n_inputs), (n_loops,), (ndof,)
        return Directions._make(np.zeros((*shape, count)) for shape in shapes)

    def warn_of_tolerance(self, tight: float) -> None:
        """Say that derivatives are loose; called by the functions that users call."""
        if self.tolerance > tight:
            warn(
                f"derivatives of steps of '{self.robot.name}' are as loose as its Newton iteration, whose tolerance is "
                f"{self.tolerance:.2g}; tolerance={tight:.0e} or less makes them tight"
            )


def _no_inputs(engine: Engine) -> Motion:
    """For models whose inputs come by `RobotMarch.jump`."""
    return Motion([ConstantSignal(0.0)] * engine.n_actuators)
