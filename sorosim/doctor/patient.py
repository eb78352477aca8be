"""A robot that is looked over, and what several checks want to know of it: computed once, when first asked for."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sorosim.engine.inputs import driven_motion, input_motion
from sorosim.equations.contact_check import total_mass
from sorosim.equations.strains import Place, largest_strain, places
from sorosim.equilibria.statics import statics
from sorosim.errors import ConvergenceError, SorosimError, SorosimWarning
from sorosim.kernels import evaluate as task
from sorosim.linear import Linearization
from sorosim.loads.immersion import half_extents
from sorosim.model.body import Assembly, RigidBody, Solid
from sorosim.model.link import WORLD, Link
from sorosim.results.result import Equilibrium
from sorosim.robot import Robot

Array = NDArray[np.float64]

ROUNDING = 1e-12  # of the largest stiffness: as good as none
LOOKS = 401  # at signals over a run
RUN = 1.0  # s that is looked at where a file says nothing of runs


class Patient:
    """A robot and what is known of it."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.unstable: Equilibrium | None = None  # the first equilibrium, if it is not stable
        self.gave_way = ""  # the coordinate that is most out of balance where no rest was found

    # -- as it is built --------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> list[Place]:
        """All divisions of all rods."""
        return list(places(self.robot))

    @cached_property
    def extent(self) -> float:
        """Size of the robot where it starts, from end to end [m]; a metre if it has none."""
        if not self.robot.n_points:
            return 1.0
        size = max(
            float(np.linalg.norm(np.ptp(self.points, axis=0))),
            max((p.division.length for p in self.places), default=0.0),
        )
        return size or 1.0

    @cached_property
    def points(self) -> Array:
        """Its points where it starts (n, 3) [m]."""
        q = self.robot.initial_q
        return self.robot.engine.poses(self.robot.engine.layout.points, q, np.zeros_like(q))[0][:, :3, 3]

    @cached_property
    def largest_part(self) -> float:
        """Longest of rods, shapes and the usual distance of links [m]; a metre if there is none."""
        sizes = [link.rod.length for link in self.robot.links if link.rod is not None]
        for link in self.robot.links:
            body = link.body
            if isinstance(body, Assembly):
                sizes += [2.0 * float(half_extents(p.shape).max()) for p in body.parts if isinstance(p, Solid)]
            elif isinstance(body, RigidBody) and body.mass:
                sizes.append(2.0 * float(np.sqrt(max(body.inertia[:3]) / body.mass)))
        away = [float(np.linalg.norm(link.at[:3, 3])) for link in self.robot.links if link.parent != WORLD]
        return max([*sizes, float(np.median(away)) if len(away) > 2 else 0.0], default=0.0) or 1.0

    @cached_property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return total_mass(self.robot)

    @cached_property
    def gravity(self) -> float:
        """[m/s^2]"""
        return float(np.linalg.norm(self.robot.description.gravity))

    @cached_property
    def weight(self) -> float:
        """Weight of the robot, on Earth where the file has no gravity [N]."""
        return self.mass * (self.gravity or 9.81)

    @cached_property
    def mass_matrix(self) -> Array:
        """At the start (ndof, ndof)."""
        return np.asarray(self.at_start(task.MASS).mass)

    @cached_property
    def stiffness(self) -> Array:
        """Of rods and springs in joints at the start (ndof, ndof), symmetric."""
        K = -self.at_start(task.INTERNAL_DERIVATIVES).dq
        return np.asarray(0.5 * (K + K.T))

    @cached_property
    def pull(self) -> Array:
        """Generalised forces of gravity and loads at the start (ndof,)."""
        return np.asarray(-self.at_start(task.INVERSE).tau)

    def at_start(self, what: int) -> Any:
        """An evaluation at the initial coordinates, at rest and without inputs."""
        q = self.robot.initial_q
        zero = np.zeros_like(q)
        return self.robot.engine.evaluate(what, q, zero, zero.copy(), self.robot.inputs(None))

    def yields(self, force: Array) -> Array:
        """Coordinates (ndof,) by which springs and rods yield to generalised forces; zero where nothing is elastic."""
        K = self.stiffness
        held = np.diag(K) > ROUNDING * np.diag(K).max(initial=0.0)
        out = np.zeros(len(force))
        out[held] = np.linalg.lstsq(K[np.ix_(held, held)], force[held], rcond=None)[0]
        return out

    def largest_strain(self, q: Array) -> tuple[float, Place | None]:
        """As `sorosim.equations.strains.largest_strain`."""
        return largest_strain(self.robot, q)

    # -- as it is run ----------------------------------------------------------------------------------------------

    @property
    def motions(self) -> Mapping[str, Any]:
        """What the file drives."""
        driven: Mapping[str, Any] = self.robot.description.simulate.get("driven") or {}
        return driven

    @cached_property
    def times(self) -> Array:
        """Times of the file's run (n,) [s]."""
        return np.linspace(0.0, float(self.robot.description.simulate.get("t_end", RUN)), LOOKS)

    @cached_property
    def inputs(self) -> Array:
        """Inputs of the file's run (n, n_actuators)."""
        given = self.robot.description.simulate.get("u")
        return input_motion(self.robot.actuator_names, given).sample(self.times)

    @cached_property
    def held(self) -> dict[str, float]:
        """Where driven coordinates start."""
        return dict(zip(self.motions, map(float, driven_motion(self.motions).value(0.0)), strict=True))

    @cached_property
    def loose(self) -> str:
        """What nothing holds: a floating link, or a coordinate along which no force changes, in words; "" if none."""
        if self.floating:
            return f"'{self.floating}' floats freely"
        name = "" if self.robot.loop_names else self._loose_coordinate()
        return f"nothing holds '{name}'" if name else ""

    @cached_property
    def floating(self) -> str:
        """The first link that floats, on no spring and in no loop; "" if none."""
        if self.robot.loop_names:
            return ""
        free = (link for link in self.robot.links if link.parent == WORLD and link.joint.kind == "free")
        return next((link.name for link in free if not link.joint.counts_turns), "")

    def _loose_coordinate(self) -> str:
        """The first coordinate that no force depends on, and none along it on any other: it is everywhere the same."""
        K = np.abs(self.at_start(task.RESIDUAL_DERIVATIVES).dq)
        loose = K.max(axis=0, initial=0.0) + K.max(axis=1, initial=0.0) <= ROUNDING * K.max(initial=0.0)
        loose[[self.robot.engine.layout.coordinate(name, "driven") for name in self.motions]] = False
        return self.robot.coordinate_names[int(np.argmax(loose))] if loose.any() else ""

    @cached_property
    def rest(self) -> Equilibrium | str:
        """The equilibrium without inputs, driven coordinates held where they start; or why there is none.

        It is one of many where rigid-body motions are neutral, as those of a turntable.
        """
        if self.floating:
            return f"{self.loose}: none was looked for"
        none = np.zeros(len(self.robot.actuator_names))
        try:
            rest = statics(self.robot, none, self.held, stable=False)
            if not rest.stable:
                self.unstable, rest = rest, statics(self.robot, none, self.held)
        except ConvergenceError as error:
            self.gave_way = error.report.where if error.report is not None else ""
            return str(error)
        except SorosimError as error:
            return str(error)
        return rest

    @cached_property
    def at_work(self) -> Equilibrium | str:
        """The equilibrium of the file's `statics` block, else under the largest inputs of its run; or why not."""
        if isinstance(self.rest, str) or not self.robot.actuator_names:
            return "" if not isinstance(self.rest, str) else self.rest
        block = self.robot.description.statics
        if block:
            u, driven = block.get("u"), block.get("driven")
        else:
            u, driven = self.inputs[int(np.argmax(np.abs(self.inputs).max(axis=1, initial=0.0)))], self.held
            if not np.any(u):
                return ""
        try:
            return statics(self.robot, u, driven)
        except SorosimError as error:
            return str(error)

    @cached_property
    def linear(self) -> Linearization | None:
        """Small motions about the rest, about the start where there is none; None where they have no equations.

        What falls freely feels no weight: there it is the motion of its rods, springs and loads alone.
        """
        rest = self.rest
        with warnings.catch_warnings():  # where there is no equilibrium the start is as good as any
            warnings.simplefilter("ignore", SorosimWarning)
            try:
                if not isinstance(rest, str):
                    return self.robot.linearize(rest.q, rest.u, free=rest.free)
                robot = _weightless(self.robot) if self.floating else self.robot
                return robot.linearize(robot.initial_q)
            except (SorosimError, np.linalg.LinAlgError):
                return None

    @cached_property
    def frequencies(self) -> Array:
        """Natural frequencies above rounding, rising [Hz]."""
        if self.linear is None:
            return np.zeros(0)
        found = self.linear.frequencies
        return np.asarray(found[np.isfinite(found) & (found > 1e-6 * np.nanmax(found, initial=0.0))])

    @cached_property
    def damping_ratio(self) -> float:
        """Of the slowest oscillation, 0 to 1."""
        if self.linear is None or not len(self.frequencies):
            return 0.0
        w = 2.0 * np.pi * float(self.frequencies.min())
        values = self.linear.eigenvalues
        near = values[(np.abs(values) > 0.5 * w) & (np.abs(values) < 2.0 * w)]
        # an overdamped oscillation is a pair of real poles, one slow and one fast
        return float((-near.real / np.abs(near)).min()) if len(near) else 1.0

    def link_of(self, coordinate: str) -> str:
        """The link that has a coordinate, as a path."""
        index = self.robot.coordinate_names.index(coordinate)
        for name, layout in self.robot.engine.layout.links.items():
            if layout.column <= index < layout.column + layout.n:
                return f"links.{name}"
        return coordinate

    def links_moved(self) -> Iterator[Link]:
        """Links whose joints move."""
        return (link for link in self.robot.links if link.joint.n)


def _weightless(robot: Robot) -> Robot:
    return Robot(replace(robot.description, gravity=(0.0, 0.0, 0.0), sensors={}))
