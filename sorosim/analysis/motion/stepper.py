"""A robot step by step: inputs are held over equal intervals (docs/theory.md, 14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sorosim.analysis.equations.system import NO_STRAINS
from sorosim.analysis.motion.discrete_steps import STEP_TOLERANCE, DiscreteSteps
from sorosim.analysis.motion.motion import ChartChange, Derivatives, Segment, SteppedMotion
from sorosim.analysis.motion.rollout import varied_equations
from sorosim.analysis.motion.simulate import LOOP_CLOSURE_TOLERANCE
from sorosim.analysis.motion.threads import Exclusive
from sorosim.analysis.sensitivity import Sensitivities
from sorosim.base.arrays import Array
from sorosim.base.errors import InputError
from sorosim.base.methods import Method
from sorosim.base.options import StepArguments, documents_options
from sorosim.base.public import public
from sorosim.base.units.quantity import amount
from sorosim.base.validation import Number, Values, vector
from sorosim.mechanics.engine.prescribed import by_coordinate
from sorosim.mechanics.kernels import begins
from sorosim.mechanics.kernels import discrete_steps as held
from sorosim.mechanics.kernels.discrete_steps import Equations
from sorosim.mechanics.robot import Robot


class Memory(NamedTuple):
    """What a stepper remembers beside a `StepState`."""

    settings: tuple[Any, ...]  # of the steps that it belongs to
    record: Array  # of the march
    path: Array  # of driven coordinates
    start: float  # time of the reset
    n_intervals: int  # since then
    known: tuple[float, Array, Array, Array, Array]  # t, q, qd, u and strain of the state


@dataclass(frozen=True, eq=False)
class StepState:
    """A state of a `Stepper`; given back to it, the same bits follow.

    Attributes
    ----------
    t : float
        Time [s].
    q, qd : (ndof,) ndarray
        Coordinates and rates. Those of a stepper cannot be changed in place.
    u : (n_actuators,) ndarray
        Inputs of the last step.
    strain : (n_strains,) ndarray or None
        Of Maxwell elements, as in `Run`; None: as a motion begins with these coordinates.
    """

    t: float
    q: Array
    qd: Array
    u: Array
    memory: Memory | None = field(default=None, repr=False)
    strain: Array | None = field(default=None, repr=False)

    def __setstate__(self, values: dict[str, Any]) -> None:  # copies and pickles of arrays can be changed in place
        vars(self).update(values)
        if self.memory is not None:
            for array in self.memory.known[1:]:
                array.setflags(write=False)

    def is_unchanged(self) -> bool:
        """Whether it is as a stepper gave it."""
        if self.memory is None:
            return False
        strain = NO_STRAINS if self.strain is None else self.strain
        given: Any = zip((self.t, self.q, self.qd, self.u, strain), self.memory.known, strict=True)
        return all(np.array_equal(*pair) for pair in given)


@documents_options(StepArguments)
@public
class Stepper:
    """A robot that moves in equal steps, under inputs that are held over each.

    Parameters
    ----------
    robot : Robot
    dt : float or str
        Time over which inputs are held [s].
    method : {methods}
        Integrator, as in ``sorosim.GeneralizedAlpha(substeps=4)``. Default: generalized-alpha. Derivatives of steps are
        as exact as its `tolerance`.
    driven : mapping of link or coordinate name to float, str or signal
        Motions, as in `simulate`: `step` may replace them. Default: those of the robot's file.
    {options}

    Attributes
    ----------
    refined : int
        How many intervals since the reset needed smaller steps.

    Notes
    -----
    Where a step finds no solution, its interval is taken again in 2, 4, up to 64 times as many. At the begin of each dt
    the accelerations are those of forward dynamics under the new inputs. Source:
    docs/theory.md, 10 and 14.

    Examples
    --------
    >>> sim = sorosim.Stepper(sorosim.load("pendulum"), "10 ms")
    >>> state = sim.reset(q=[0.1])
    >>> state = sim.step()
    """

    def __init__(
        self, robot: Robot, dt: Number, *, method: Method | str | None = None,
        driven: Mapping[str, Any] | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self._set_up(DiscreteSteps(robot, dt, driven, {"method": method, **options}))

    def _set_up(self, steps: DiscreteSteps) -> None:
        self._steps, self.robot, self.dt = steps, steps.robot, steps.dt
        self._alone = Exclusive("Stepper", "sim.copy() gives each thread its own, and Batch moves many")
        self._motion, self._rows, self._derivatives = SteppedMotion(steps), steps.rows(1), Derivatives(steps)
        self._u = np.zeros((1, steps.engine.n_actuators))
        self._state: StepState | None = None
        self._last: _Interval | None = None

    @property
    def refined(self) -> int:
        return self._motion.refined

    def __repr__(self) -> str:
        where = "not reset" if self._state is None else f"t = {self._state.t:g} s"
        return f"<Stepper of '{self.robot.name}': dt = {self.dt:g} s, {where}>"

    def reset(self, q: Any = None, qd: Values | None = None, t: Number = 0.0, *, u: Values | None = None) -> StepState:
        """Put the robot to a start.

        Parameters
        ----------
        q : (ndof,) array_like, mapping, Equilibrium, "equilibrium" or "assembled"
            As q0 of `simulate`. Default: the initial block of the file.
        qd : (ndof,) array_like or mapping
            Rates. Default: those of the file.
        t : float or str
            Time [s].
        u : array_like or mapping
            Inputs of an equilibrium to start from, and of the first step that names none. Default: zero.
        """
        inputs, time = self.robot.inputs(u), amount("t", t, "time")
        with self._changing():
            self._motion.begin(q, qd, time, inputs)
            self._motion.refined = 0
            self._keep()
        return self.state

    def step(self, u: Values | None = None, driven: Mapping[str, Number] | None = None) -> StepState:
        """Move by dt.

        Parameters
        ----------
        u : array_like, or mapping of actuator name to float or str
            Inputs. Default: those of the step before, or of the reset.
        driven : mapping of link or coordinate name to float or str
            Where driven coordinates are at the end of the step: they go there smoothly, and arrive at the mean rate of
            the step. They stay there until they are named again.

        Raises
        ------
        ConvergenceError
            No steps of the integrator found a solution, nor smaller ones; a joint came to a whole turn, where its
            coordinates are singular.
        InputError
            A wrong name, length or value; no `reset` before; the rate of a driven motion jumps within the step.

        Notes
        -----
        Whatever is raised, by loads in Python too, the state is that before the step.
        """
        state = self.state
        inputs = state.u if u is None else self.robot.inputs(u)
        path = self._path(driven, state.t)
        with self._changing():
            self._motion.march.path[:] = path
            self._move(inputs)
        return self.state

    def _move(self, u: Array) -> None:
        before, motion, fresh = self.state, self._motion, bool(self._motion.march.counts["fresh"])
        assert before.memory is not None
        motion.prepare(self._rows, 1)
        self._u[0], self._last = u, None
        (segment,), error = motion.move(self._rows, self._u, before=before.memory.record)
        if error is not None:
            raise error
        last = segment, self._u.copy(), before.u, fresh, motion.rechart()
        self._keep()
        self._last = _Interval(*last)

    @property
    def state(self) -> StepState:
        """The state; it may be set to one that was read before, or to one with other coordinates."""
        if self._state is None:
            raise InputError("Stepper", "a reset before the first step", "none", "sim.reset() begins at the start")
        return self._state

    @state.setter
    def state(self, state: StepState) -> None:
        if not isinstance(state, StepState):
            raise InputError("state", "a state of a Stepper", type(state).__name__)
        memory = state.memory
        if memory is not None and memory.settings == self._steps.settings and state.is_unchanged():
            self._restore(state)
            return
        self._begin_at(state)

    def _begin_at(self, state: StepState) -> None:
        """A new start at a state: another one, or one of other steps; driven coordinates that were sent on go on."""
        memory, steps, robot = state.memory, self._steps, self.robot
        q, qd = robot.coordinates(state.q, "state.q"), robot.coordinates(state.qd, "state.qd", order=1)
        u, t = robot.inputs(state.u, "state.u"), amount("state.t", state.t, "time")
        path = np.zeros_like(self._motion.march.path)
        if memory is not None and memory.settings[-2] == steps.driven_names:
            path = memory.path
        partition = steps.system.partition
        motion = steps.system_at(u, path).driven.jets(t) if partition.names else ()
        for name, i, jet in zip(partition.names, partition.driven, motion, strict=True):
            for letter, x, there in (("q", q[i], jet[0]), ("qd", qd[i], jet[1])):
                if abs(x - there) > LOOP_CLOSURE_TOLERANCE * (1.0 + abs(there)):
                    hint = "step(driven=...) sends it on"
                    raise InputError(f"state.{letter}, {name}", f"{there:.6g}, where its motion is", f"{x:.6g}", hint)
        with self._changing():
            self._motion.begin(q, qd, t, u, path, ("state.q", "state.qd"), self._strain_of(state))
            self._keep()

    def _strain_of(self, state: StepState) -> Array | None:
        """Strains of Maxwell elements of a state from outside."""
        n = self._steps.system.n_strains
        return None if state.strain is None or not n else vector("state.strain", state.strain, n)

    def copy(self) -> Stepper:
        """Another stepper of the same robot in the same state."""
        return copy(self)

    def __getstate__(self) -> tuple[DiscreteSteps, StepState | None, int]:  # arrays are made anew
        return self._steps, self._state, self.refined

    def __setstate__(self, kept: tuple[DiscreteSteps, StepState | None, int]) -> None:
        steps, state, refined = kept
        self._set_up(copy(steps) if steps.system.n_strains else steps)
        self._roll_back(state, refined)

    def __deepcopy__(self, _: object) -> Stepper:
        return self.copy()

    def linearize(self) -> tuple[Array, Array]:
        """Derivatives of the last step, exact for what was computed.

        Returns
        -------
        A : (2 ndof, 2 ndof) ndarray
            Of [q; qd] at its end by those at its begin, rows and columns of driven coordinates being zero. What a -
            qdd is, the method's own accelerations beyond those of the robot, accelerations to which stiff parts keep,
            and strains of Maxwell elements at its begin are kept constant.
        B : (2 ndof, n_actuators) ndarray
            By the inputs.

        Raises
        ------
        InputError
            No step since the reset; loads that Python computes.
        """
        A, B = self._linearize_with_strains()
        n = 2 * self.robot.ndof
        return A[:n, :n], B[:n]

    def _linearize_with_strains(self) -> tuple[Array, Array]:
        """As `linearize`, of the state [q; qd; strain], with the strains of Maxwell elements."""
        if self._last is None:
            raise InputError("Stepper.linearize", "a step before", "none since the reset or the change of the state")
        self._steps.warn_of_tolerance(STEP_TOLERANCE)
        segment, inputs, before, fresh, change = self._last
        n, n_strains, n_inputs = self.robot.ndof, self._steps.system.n_strains, len(before)
        n_states, free = 2 * n + n_strains, self._steps.system.partition.free
        directions = self._steps.directions(n_states + n_inputs)
        memory, strain = directions.memory, directions.strain
        memory[begins.Q, free, free] = memory[begins.QD, free, n + free] = 1.0
        strain[:, 2 * n : n_states] = np.eye(n_strains)
        directions.inputs[0, :, n_states:] = np.eye(n_inputs)
        ends = np.zeros((2, 2, *memory.shape[1:]))
        self._derivatives(
            held.motion_jvp, self._motion.rank, segment.rows, inputs, segment.ends, fresh, before.copy(), directions,
            self._steps.no_changes, ends, path=self._motion.march.path,
        )  # fmt: skip
        end = ends[:, 1] if change is None else change.push(ends[:, 1])
        columns = np.vstack([*end, strain])
        return columns[:, :n_states], columns[:, n_states:]

    def _by_numbers(self, by: Sensitivities) -> Array:
        """Derivatives (2 ndof + n_strains, n) of the end of the last step, which began anew, by numbers of the file."""
        assert self._last is not None
        assert self._last.fresh
        segment, inputs, before, fresh, change = self._last

        def derive(kernel: Any, segment: Segment, u: Array, *arguments: object) -> None:
            path = self._motion.march.path
            self._derivatives(kernel, self._motion.rank, segment.rows, u, segment.ends, *arguments, path=path)

        parts = varied_equations(self._steps, derive, segment, inputs, by.engines)
        varied = Equations._make(np.stack(tables, axis=-1) for tables in zip(*parts, strict=True))
        directions = self._steps.directions(len(parts))
        ends = np.zeros((2, 2, *directions.memory.shape[1:]))
        derive(held.motion_jvp, segment, inputs, fresh, before.copy(), directions, varied, ends)
        end = ends[:, 1] if change is None else change.push(ends[:, 1])
        return np.vstack([*end, directions.strain])

    def measure(self) -> dict[str, Array]:
        """What all sensors read in the state, as `Robot.measure`."""
        _ = self.state  # there is one
        return self._motion.measure()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """While one thread moves it, others are refused; it is as it was if anything is raised, Ctrl-C included."""
        with self._alone():
            before = self._state, self.refined
            try:
                yield
            except BaseException:
                self._roll_back(*before)
                raise

    def _roll_back(self, state: StepState | None, refined: int) -> None:
        self._motion.refined = refined
        if state is not None:
            self._restore(state)

    def _path(self, driven: Mapping[str, Number] | None, t: float) -> Array:
        """Path on which driven coordinates move to targets, or come to rest."""
        march = self._motion.march
        if driven is None and not len(march.path):
            return march.path
        path, partition, layout = march.path.copy(), self._steps.system.partition, self.robot.engine.layout
        targets = {}
        for name, value in by_coordinate(self.robot.engine, driven).items():
            index = layout.coordinate(name, "driven")
            if index not in partition.driven:
                hint = "name it in Stepper(..., driven={name: value})"
                raise InputError(f"driven.{name}", "a coordinate that is driven", "a free one", hint)
            targets[index] = value
            if index in self.robot.engine.insertions and targets[index] != (stays := march.state.q[index]):
                expected = f"{stays:g} m: insertions stay, in motion"
                raise InputError(f"driven.{name}", expected, f"{targets[index]:g} m")
        for k, index in enumerate(partition.driven):
            q, qd = march.state.q[index], march.state.qd[index]
            if index in targets or path[k, 0] != 0.0:
                mean, h = (targets.get(index, q) - q) / self.dt, self.dt
                # q + qd x + c x^2 + d x^3 with the rate `mean` at the end
                path[k] = 1.0, t, q, qd, 2.0 * (mean - qd) / h, (qd - mean) / h**2
        return path

    def _keep(self) -> None:
        """Let the state be that of the march."""
        motion, march = self._motion, self._motion.march
        known = march.state.q.copy(), march.state.qd.copy(), march.begin.u.copy(), march.strain[0].copy()
        record, path = march.memory.copy(), march.path.copy()
        for array in (*known, record, path):
            array.setflags(write=False)
        t, (q, qd, u, strain) = float(march.number["time"]), known
        memory = Memory(self._steps.settings, record, path, motion.start, motion.count, (t, *known))
        self._state, self._last = StepState(t, q, qd, u, memory, strain if len(strain) else None), None

    def _restore(self, state: StepState) -> None:
        """Be in a state of these steps again."""
        assert state.memory is not None
        motion = self._motion
        motion.march.memory[:] = state.memory.record
        motion.start, motion.count, self._state = state.memory.start, state.memory.n_intervals, state
        self._last = None  # the rows are those of another step


class _Interval(NamedTuple):
    """The last interval of a stepper."""

    segment: Segment
    u: Array  # (1, n_actuators)
    before: Array  # inputs before it
    fresh: bool  # whether it began anew
    change: ChartChange | None  # at its end
