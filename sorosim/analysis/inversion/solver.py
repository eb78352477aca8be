"""Inverse statics of one robot, again and again: `InverseSolver`, and what a search gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import cycle
from typing import Any, cast

import numpy as np
from scipy.stats.qmc import Halton

from sorosim.analysis.equations.system import StaticSystem
from sorosim.analysis.equilibria.assembly import close_if_possible
from sorosim.analysis.equilibria.statics import start_point, statics, tunnelling_test
from sorosim.analysis.inversion.manifold import Manifold, Point
from sorosim.analysis.inversion.quadratic import norm
from sorosim.analysis.inversion.search import Outcome, Search
from sorosim.analysis.inversion.targets import Targets
from sorosim.analysis.inversion.unheld import neutral_directions, unheld_motors, without_motors
from sorosim.analysis.results.result import Equilibrium, InitialState
from sorosim.base.arrays import Array
from sorosim.base.errors import ConvergenceError, InputError, ModelError, nearest
from sorosim.base.ode import one_blas_thread
from sorosim.base.options import EFFORTS, InverseArguments, checked
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import Number, Values, describe
from sorosim.mechanics.actuation.tendon import SLACK_PART
from sorosim.mechanics.engine.parameter import INPUT, input_or_coordinate, input_parameter
from sorosim.mechanics.engine.prescribed import AT_REST, Prescribed
from sorosim.mechanics.engine.quantities import extent
from sorosim.mechanics.kernels.rod_actuators import LENGTH_INPUT
from sorosim.mechanics.robot import Robot, check_robot

# where a search from the start does not reach the targets: candidates for each other start; how far they are spread, in
# turn: at 4 three quarters of their inputs lie at a bound, as most do where far targets are nearest
CANDIDATES, SPREADS = 12, (4.0, 4.0, 2.0, 1.0)
# evaluations for each other start, after all of which statics looks for no more of them: ten times what it mostly takes
EVALUATIONS = 300
# of the size of the robot: ends of searches whose distances differ by less are one
SAME_END = 1e-4
States = list[tuple[Array, Array]]  # unknowns and parameters
# of the range of a parameter: it is at its bound
AT_BOUND = 1e-9
# motion of the targets below this part of that of the coordinates is rounding, as at a turning point
NO_EFFECT = 1e-10


@public
@dataclass(frozen=True, eq=False)
class Inverse:
    """Inputs and driven coordinates under which a robot at rest comes where it shall, or as near as it can.

    Attributes
    ----------
    robot : Robot
    q : (ndof,) ndarray
        Coordinates.
    u : (n_actuators,) ndarray
        Inputs, in `Robot.actuator_units`.
    driven : dict of str to float
        Values of all driven coordinates [rad or m].
    error : float
        Norm of all errors over their weights: lengths over the size of the robot, angles [rad], relative readings.
    errors : dict
        Target -> its error (k,): displacement from it [m]; of a pose the twist from it [rad, m] in the frame of the
        target; of a sensor the difference of readings.
    reached : bool
        Whether the error is within the tolerance.
    active : dict of str to float
        Name of an input or driven coordinate that is at one of its bounds -> that bound.
    stable : bool
        Whether the equilibrium is stable.
    steps : int
        Evaluations of the equilibrium and its derivatives.
    message : str
    """

    robot: Robot
    q: Array
    u: Array
    driven: dict[str, float]
    error: float
    errors: dict[Any, Array]
    reached: bool
    active: dict[str, float]
    stable: bool
    steps: int
    message: str

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """The state as `sorosim.statics` finds it from q: with multipliers, forces of driven coordinates, stiffness."""
        return statics(self.robot, self.u, driven=self.driven, q0=self.q, stable=False)

    @property
    def distance(self) -> float:
        """Largest distance of a place from where it shall be [m]; NaN where there are only sensors."""
        places = [error for key, error in self.errors.items() if key not in self.robot.sensor_names]
        return max((float(np.linalg.norm(error[-3:])) for error in places), default=np.nan)

    save = LazyMethod("sorosim.files.results:save", of="equilibrium")
    _repr_html_ = LazyMethod("sorosim.view.viz.notebook:equilibrium_html", of="equilibrium")

    def __repr__(self) -> str:
        return f"<Inverse of '{self.robot.name}': {self.message}>"


@public
class InverseSolver:
    """Inverse statics of one robot, again and again: each search begins where the one before ended.

    Parameters
    ----------
    robot : Robot
    bounds : mapping of str to (low, high)
        Of inputs and driven coordinates [SI, or texts with units]; None: there is none. Default: tendons that only pull
        have the lower bound 0, driven coordinates the ends of their joint's `limits`, others none.
    free : sequence of str
        Names of inputs, and of coordinates or links whose joint has one, that may change. Default: all inputs.
    u, driven : mapping of name to float or str
        Values of the others; where the search begins for the free ones. Default: as in `statics`.
    q0 : (ndof,) array_like, mapping or Equilibrium
        Where the search begins. Default: the file's `initial` block.
    weights : mapping of target to float
        Of errors, where not all targets can be reached. Default: 1.
    effort : {"inputs", "energy"}
        Of all states that reach the targets, the one of least: inputs (default), the sum of their squares over their
        ranges; or energy, that of the strains and springs.
    tolerance : float
        Error, over the size of the robot, that counts as reached. Default: 1e-8.
    starts : int
        From how many other states to search where the first search does not reach the targets, and then from how many
        to which the robot jumps at a fold. Default: 8.
    stable : bool
        Whether to look for another equilibrium where the one found is unstable. Default: True.

    Notes
    -----
    Contacts have no friction. Where a free motor acts on a coordinate that nothing else holds, as along the rails of a
    gantry, any place is an equilibrium under one force: the coordinate is found, and the motor's force follows. Bounds
    of such a force are not searched within, but `reached` is false where it passes them. Source: docs/theory.md, 15.

    Examples
    --------
    >>> solver = sorosim.InverseSolver(sorosim.load("cable_manipulator"))
    >>> u = solver.solve({"arm": [0.42, 0.09, -0.19]}).u
    """

    def __init__(
        self, robot: Robot, *, bounds: Mapping[str, Any] | None = None, free: Sequence[str] | None = None,
        u: Values | None = None, driven: Mapping[str, Number] | None = None, q0: InitialState | None = None,
        weights: Mapping[Any, float] | None = None, effort: str | None = None, tolerance: Number | None = None,
        starts: int | None = None, stable: bool | None = None,
    ) -> None:  # fmt: skip
        self._whole = self.robot = check_robot(robot)
        given = {"effort": effort, "tolerance": tolerance, "starts": starts, "stable": stable}
        options = checked(InverseArguments, given)
        self.tolerance, self.starts, self.stable = (options[name] for name in ("tolerance", "starts", "stable"))
        self._weights = weights or {}
        prescribed = Prescribed.of(robot, u, driven, AT_REST)
        inputs, values = prescribed.u, prescribed.values
        q = start_point(robot, q0)[0]
        names = _free_names(robot, free)
        self._whole_inputs, self._kept = inputs, np.arange(len(inputs))
        # motors on coordinates that nothing else holds -> these coordinates, which are found in their place
        self._held = unheld_motors(robot, inputs, values, names, q)
        self._held_bounds = dict.fromkeys(self._held, (-np.inf, np.inf))
        if self._held:
            bounds = self._without_unheld(bounds or {})
            self.robot = robot = without_motors(robot, list(self._held))
            self._kept = np.array([k for k, name in enumerate(self._whole.actuator_names) if name not in self._held])
            inputs = inputs[self._kept.astype(np.int64)]
            names = [robot.coordinate_names[self._held[name]] if name in self._held else name for name in names]
        free_ones = [input_or_coordinate(robot, name, "free") for name in names]
        free_ones.sort(key=lambda one: one.kind != INPUT)  # inputs come first
        self._inputs = np.array([one.index for one in free_ones if one.kind == INPUT], dtype=np.int64)
        moved = [one.target for one in free_ones if one.kind != INPUT]
        column = {name: robot.engine.layout.coordinate(name, "free") for name in (*values, *moved)}
        as_free = {column[name]: name for name in moved}  # a coordinate has two names where its link has but one
        values = {as_free.get(column[name], name): value for name, value in values.items()}
        values |= {name: float(q[column[name]]) for name in moved if name not in values}
        self._driven_names = tuple(values)
        self._driven = np.array([self._driven_names.index(name) for name in moved], dtype=np.int64)
        self._free = free_ones
        self.names = tuple(one.target for one in free_ones)
        self.low, self.high = self._bounds(bounds or {})
        system = StaticSystem(robot, inputs.copy(), values)
        q[system.partition.driven] = system.driven_values
        q = with_loops_closed(system, q)
        nodes = robot.engine.poses(np.arange(len(robot.engine.tree.inertia)), q, np.zeros(robot.ndof))[0][:, :3, 3]
        self.extent = extent(nodes) or 1.0
        touches, of_energy = robot.engine.loading.touches, options["effort"] == EFFORTS[1]
        self._manifold = Manifold(
            system, self._inputs, self._driven, self._elastic if of_energy else None, self._at_rest if touches else None
        )
        self._search = Search(self._manifold, self.low, self.high, tunnelling_test(system) if touches else None)
        self._is_scaled, self._targets = False, cast(Targets | None, None)
        self._of_effort, self._evaluations = cast(Array | None, None), 0  # of statics
        self._q, self._x = q, cast(Array | None, None)
        self._p = np.clip(self._manifold.parameters(), self.low, self.high)
        self._take_up_slack(q)

    def _bounds(self, bounds: Mapping[str, object]) -> tuple[Array, Array]:
        """Bounds of the free ones."""
        out = np.array([(one.low, one.high) for one in self._free]).T
        for name, pair in self._by_name("bounds", bounds).items():
            k = self.names.index(name)
            out[:, k] = self._free[k].bounds(f"bounds.{name}", pair)
        return out[0], out[1]

    def _without_unheld(self, bounds: Mapping[str, object]) -> dict[str, Any]:
        """Bounds without those of motors that hold a coordinate alone, which are kept apart."""
        left = dict(bounds) if isinstance(bounds, Mapping) else bounds
        for name in self._held:
            if isinstance(left, dict) and name in left:
                motor = input_parameter(self._whole, name)
                self._held_bounds[name] = motor.bounds(f"bounds.{name}", left.pop(name))
        return left

    def _by_name(self, where: str, given: object) -> Mapping[str, Any]:
        """A mapping by names of what is free (else InputError)."""
        if not isinstance(given, Mapping):
            raise InputError(where, "a mapping by names of what is free", describe(given))
        for name in given:
            if name not in self.names:
                raise InputError(where, "names of what is free", f"'{name}'", nearest(str(name), self.names))
        return given

    def _take_up_slack(self, q: Array) -> None:
        """Let tendons of given length begin taut, since slack ones do nothing."""
        records, lengths = self.robot.engine.rod_actuators, self.robot.engine.tendon_lengths(q)
        for k, i in enumerate(self._inputs):
            if records.mode[i] == LENGTH_INPUT:
                taut = records.length[i] - lengths[i] + SLACK_PART * records.length[i]
                self._p[k] = np.clip(max(self._p[k], taut), self.low[k], self.high[k])

    def _elastic(self, q: Array) -> tuple[Array, Array]:
        """Gradient and second derivative of the elastic energy by q."""
        unactuated = self.robot.engine.unactuated
        out = unactuated.internal(q, np.zeros_like(q), np.zeros(unactuated.n_actuators), True)
        return -out.tau, -out.by_q

    # -- solving -----------------------------------------------------------------------------------------------------

    def solve(
        self, targets: Mapping[Any, Any], *, rates: Mapping[str, Number] | None = None, stay: bool = False
    ) -> Inverse:
        """Search from where the search before ended.

        Parameters
        ----------
        targets : mapping of place or sensor to value
            As in `inverse`.
        rates : mapping of str to float or str
            Most change of inputs and driven coordinates from where the search begins [SI, or texts with units].
        stay : bool
            Whether to look for the targets on this curve of equilibria only, from no other start.

        Returns
        -------
        Inverse
        """
        known = self._targets
        if known is not None and isinstance(targets, Mapping) and tuple(targets) == known.keys:
            known.set(targets)
        else:
            self._targets = known = Targets(self.robot, targets, self._weights, self.extent)
        self._limit(rates or {})
        with one_blas_thread(), np.errstate(all="ignore"):
            found = self._best(known, stay or bool(rates))
        if found.last is not None:
            self._x, self._p, self._of_effort = found.last.x, found.last.p, found.of_effort
        return self._result(known, found)

    def _limit(self, rates: Mapping[str, object]) -> None:
        """Bounds of this search."""
        self._search.low, self._search.high = self.low, self.high
        if rates:
            most = self.checked_rates(rates)
            self._search.low = np.maximum(self.low, self._p - most)
            self._search.high = np.minimum(self.high, self._p + most)

    def checked_rates(self, rates: Mapping[str, Any]) -> Array:
        """Most changes of all that is free, in the order of `names` (else InputError)."""
        most = np.full(len(self.names), np.inf)
        for name, rate in self._by_name("rates", rates).items():
            k = self.names.index(name)
            most[k] = self._free[k].number(f"rates.{name}", rate)
            if not most[k] > 0.0:
                raise InputError(f"rates.{name}", "a number greater than 0", f"{rate}")
        return most

    def _best(self, targets: Targets, alone: bool) -> Outcome:
        """The first search that succeeds; else the best."""
        found, begun = list[Outcome](), list[tuple[Array, Array]]()
        for begins in self._begins(targets, alone, found):
            try:
                states = begins()
            except (ModelError, ConvergenceError):  # no state to begin from
                continue
            for x, p in states:
                try:
                    self._scale(targets, x, p)
                    of_effort = self._of_effort if x is self._x else None
                    begun.append((x, p))
                    found.append(self._search.run(targets, x, p, self.tolerance, of_effort))
                except (ModelError, ConvergenceError):  # none to end in
                    continue
                if self._good(found[-1]):
                    return found[-1]._replace(steps=sum(one.steps for one in found))
        if not found:
            hint = "start nearer to the targets (q0, u), or give bounds"
            if loose := self._loose():
                hint = f"nothing holds {', '.join(loose)}: drive them (driven, or free), or give them springs or motors"
            raise ConvergenceError(f"inverse: no equilibrium of '{self.robot.name}' was found to begin from; {hint}")
        found += self._at_stability_limit(targets, found, begun)
        return min(found, key=self._order)._replace(steps=sum(one.steps for one in found))

    def _at_stability_limit(self, targets: Targets, found: list[Outcome], begins: States) -> list[Outcome]:
        """Where nearer equilibria than the best are unstable: how near stable ones lead, from where a search began."""
        best = min(found, key=self._order)
        if not self.stable or best.reached or (best.stable and all(one.distance >= best.distance for one in found)):
            return []
        for x, p in begins:
            point = self._manifold.point(targets, x, p)
            if point is not None and point.balanced and self._manifold.definite(point):
                end = self._search.run(targets, x, p, self.tolerance, stays_stable=True)
                why = "nearer equilibria are unstable (stable=False takes them)"
                return [end._replace(message=end.message and why)]
        return []

    def _loose(self) -> list[str]:
        """Coordinates that move most in directions in which no force changes."""
        self._manifold.set(self._p)
        null = neutral_directions(self._manifold.system, self._q)
        return sorted({self.robot.coordinate_names[k] for k in np.abs(null).argmax(axis=1)})

    def _begins(self, targets: Targets, alone: bool, found: list[Outcome]) -> Iterator[Callable[[], States]]:
        """Where to begin in turn: here, at the equilibrium here, at other ones, and from what was found by these."""
        yield self._here
        yield self._equilibrium_here
        if alone:
            return
        yield partial(self._others, targets)
        # nearer equilibria may be on branches that no way along this one leads to: the robot jumps there at a fold
        direct, left, enough = len(found), list(found), self._evaluations + self.starts * EVALUATIONS
        for _ in range(self.starts):
            left = sorted((one for one in left if self._beyond(one) is not None), key=lambda one: one.distance)
            if not left or self._evaluations >= enough:
                break
            n = len(found)
            jumped = left.pop(0)
            yield partial(self._other_branch, jumped)
            # from where it comes back to there it would jump again
            left += [one for one in found[n:] if abs(one.distance - jumped.distance) > SAME_END]
        if found:
            best = min(found, key=self._order)
            if any(best is one for one in found[direct:]):
                yield partial(self._spread, targets, best.last or best.point, 0)

    def _order(self, outcome: Outcome) -> tuple[bool, bool, float]:
        """The best outcome is the least."""
        return not outcome.reached, self.stable and not outcome.stable, outcome.distance

    def _good(self, outcome: Outcome) -> bool:
        return outcome.reached and (outcome.stable or not self.stable)

    def _here(self) -> States:
        """Where the search before ended; else the start, unless surfaces may touch, which begin at rest."""
        if self._x is not None:
            return [(self._x, self._p)]
        return [] if self.robot.engine.loading.touches else [self._start(self._q, self._p)]

    def _equilibrium_here(self) -> States:
        """The equilibrium under the parameters of the start."""
        return [self._start(self._rest(self._p, self._x).q, self._p)] if self._x is None else []

    def _start(self, q: Array, p: Array) -> tuple[Array, Array]:
        """Unknowns at coordinates, and the parameters."""
        self._manifold.set(p)
        return self._manifold.system.start(q), p

    def _rest(self, p: Array, x: Array | None, stable: bool = True) -> Equilibrium:
        """An equilibrium under parameters, near unknowns; None: near the coordinates of the start."""
        self._manifold.set(p)
        system = self._manifold.system
        q = self._q if x is None else system.q(x)
        try:
            out = statics(self.robot, system.u.copy(), driven=self._driven_values(), q0=q, stable=stable)
        except ConvergenceError as error:
            self._evaluations += error.partial.n_evaluations if isinstance(error.partial, Equilibrium) else 0
            raise
        self._evaluations += out.n_evaluations
        return out

    def _at_rest(self, p: Array, x: Array) -> Array:
        """Unknowns of an equilibrium under parameters, near others."""
        return self._start(self._rest(p, x, stable=False).q, p)[0]

    def _driven_values(self) -> dict[str, float]:
        values = self._manifold.system.driven_values
        return dict(zip(self._driven_names, map(float, values), strict=True))

    def _scale(self, targets: Targets, x: Array, p: Array) -> None:
        """Typical sizes of parameters: half of their range, or what moves the targets by about their size."""
        if self._is_scaled:
            return
        scale = 0.5 * (self.high - self.low)
        open_ = ~np.isfinite(scale)
        if open_.any():
            point = self._manifold.point(targets, x, p)
            if point is None:
                raise ModelError("q0", "a state with a regular tangent stiffness", "another one")
            effect = np.linalg.norm(point.J, axis=0)
            counts = effect > NO_EFFECT * np.linalg.norm(point.by[: self._manifold.system.n_free], axis=0)
            scale[open_] = np.divide(1.0, effect, out=np.full(len(effect), np.nan), where=counts)[open_]
        fixed = scale == 0.0  # its bounds are the same
        for kind in {one.dimension for one in self._free}:
            same = np.array([one.dimension == kind for one in self._free])
            usable = same & np.isfinite(scale) & ~fixed
            scale[same] = np.median(scale[usable]) if usable.any() else 1.0
        self._manifold.scale, self._is_scaled = scale, True

    def _others(self, targets: Targets) -> States:
        """Unknowns and parameters from which to search else: of states spread over the ranges the nearest ones."""
        if not self.starts:
            return []
        begin = self._manifold.point(targets, *self._start(self._rest(self._p, self._x).q, self._p))
        return [] if begin is None else self._spread(targets, begin, self.starts)

    def _spread(self, targets: Targets, begin: Point, statics_left: int) -> States:
        """The same from one equilibrium; `statics_left`: how many may be found by statics where the way is lost."""
        enough = self._evaluations + statics_left * EVALUATIONS
        manifold, low, high = self._manifold, self.low, self.high
        low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0 * manifold.scale, -manifold.scale))
        high = np.where(np.isfinite(high), high, low + 2.0 * manifold.scale)
        found: list[tuple[float, int, Point]] = []
        shares = Halton(len(self.names), scramble=False).random(CANDIDATES * self.starts + 1)[1:]
        for share, spread in zip(shares, cycle(SPREADS), strict=False):
            p = low + np.clip(0.5 + spread * (share - 0.5), 0.0, 1.0) * (high - low)
            # where surfaces may touch, statics sees to it that they do not pass through each other
            point = None if self.robot.engine.loading.touches else manifold.follow(targets, begin, p)
            if point is None or (self.stable and not manifold.stable(point)):
                if (statics_left := statics_left - 1) < 0 or self._evaluations >= enough:
                    continue
                try:
                    rest = self._rest(p, begin.x if point is None else point.x)
                except (ConvergenceError, ModelError):
                    continue
                point = manifold.point(targets, *self._start(rest.q, p))
            if point is not None:
                found.append((norm(point.error), len(found), point))
        return [(point.x, point.p) for _, _, point in sorted(found)[: self.starts]]

    def _beyond(self, outcome: Outcome) -> Array | None:
        """Parameters under which a robot leaves the state where a search ended for another branch; None: it stays."""
        return outcome.point.p if self.stable and not outcome.stable else outcome.beyond

    def _other_branch(self, outcome: Outcome) -> States:
        """The equilibrium to which it goes then."""
        p = self._beyond(outcome)
        return [] if p is None else [self._start(self._rest(p, outcome.point.x).q, p)]

    def _result(self, targets: Targets, found: Outcome) -> Inverse:
        manifold, point = self._manifold, found.point
        manifold.set(point.p)
        errors, near = targets.sizes(point.error), AT_BOUND * manifold.scale
        bound = np.where(point.p <= self.low + near, self.low, np.where(point.p >= self.high - near, self.high, np.nan))
        active = {name: at for name, at in zip(self.names, bound.tolist(), strict=True) if at == at}
        message = f"reached in {found.steps} steps"
        if not found.reached:
            pairs = zip(targets.keys, targets.labels, strict=True)
            misses = ", ".join(f"{label} misses by {self._size(key, errors[key])}" for key, label in pairs)
            message = f"not reached, {found.message or 'this is the nearest that was found'}: {misses}"
            message += f"; at their bounds: {', '.join(active)}" if active else ""
        message += "" if found.stable else "; the equilibrium is unstable"
        q, u = manifold.system.q(point.x), manifold.system.u.copy()
        driven, reached = self._driven_values(), found.reached
        if self._held:
            u, beyond = self._motor_forces(point, q, u)
            driven = {name: x for name, x in driven.items() if name not in self._unheld_names}
            active = {name: at for name, at in active.items() if name not in self._unheld_names} | beyond
            message += f"; nothing but their motors holds {', '.join(self._unheld_names)}"
            if beyond:
                reached = False
                message += f", and these would press beyond their bounds: {', '.join(beyond)}"
        return Inverse(
            self._whole, q, u, driven, found.distance, errors, reached, active, found.stable, found.steps, message
        )

    @property
    def _unheld_names(self) -> list[str]:
        """Coordinates that motors hold alone."""
        return [self.robot.coordinate_names[column] for column in self._held.values()]

    def _motor_forces(self, point: Point, q: Array, u: Array) -> tuple[Array, dict[str, float]]:
        """All inputs, with the forces of motors that hold a coordinate alone; bounds that these pass."""
        system, beyond = self._manifold.system, dict[str, float]()
        needed = system.full_residual(q, system.multipliers(point.x))
        whole = self._whole_inputs.copy()
        whole[self._kept.astype(np.int64)] = u
        for name, column in self._held.items():
            force, (low, high) = float(needed[column]), self._held_bounds[name]
            whole[self._whole.actuator_names.index(name)] = force
            slack = AT_BOUND * (abs(force) + (high - low if np.isfinite(high - low) else 0.0))
            if not low - slack <= force <= high + slack:
                beyond[name] = low if force < low else high
        return whole, beyond

    def _size(self, key: object, error: Array) -> str:
        """An error of a target in words."""
        if key in self.robot.sensor_names:
            return f"{np.abs(error).max():.3g}"
        angle = f" and {np.linalg.norm(error[:-3]):.3g} rad" if len(error) > 3 else ""
        return f"{np.linalg.norm(error[-3:]):.3g} m{angle}"


def with_loops_closed(system: StaticSystem, q: Array) -> Array:
    """Coordinates (ndof,) near to others at which the loops are closed; the system takes its scales there."""
    if not system.robot.n_multipliers:
        return q
    closed, errors, why = close_if_possible(system.robot, q, system.partition.free)
    if why:
        raise ConvergenceError(f"inverse: {why}", closed)
    system.scale_constraints(*errors)
    return closed


def _free_names(robot: Robot, free: Sequence[str] | None) -> list[str]:
    """Names of what may change."""
    if free is None:
        if not robot.actuator_names:
            expected = "names of coordinates that may be driven"
            raise InputError("free", expected, f"none, and '{robot.name}' has no inputs")
        return list(robot.actuator_names)
    if isinstance(free, str) or not isinstance(free, Sequence):
        raise InputError("free", "a list of names", describe(free))
    if not free:
        raise InputError("free", "names of inputs and coordinates, at least one", "none")
    chosen: set[tuple[str, int]] = set()
    for name in free:
        one = input_or_coordinate(robot, name, "free")
        if (key := (one.kind, one.index)) in chosen:
            raise InputError("free", "every name once", f"'{name}' again")
        chosen.add(key)
    return list(free)
