"""Exact statics of networks of planar rods: boundary-value problems solved by shooting; nothing of sorosim is used.

The kinematics are Reissner's: r' = R(theta) (1 + N/EA, Q/GA), theta' = kappa + M/EI, with N and Q the parts of the
section's force n along and across it. Force and moment that the part beyond a section has on the one before it obey
n' = -w, m' = -r' x n, w the weight a length. The unknowns are place, angle, force and moment at the start of every rod,
the equations those of the joints; both are integrated and differentiated (by complex steps) to rounding.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from threadpoolctl import threadpool_limits

Array = NDArray[np.float64]
X, Y, THETA, N_X, N_Y, MOMENT = range(6)
STEP = 1e-30


@dataclass(frozen=True)
class Beam:
    """A rod, straight or an arc of curvature kappa while nothing pulls."""

    length: float
    EA: float
    GA: float
    EI: float
    weight: tuple[float, float] = (0.0, 0.0)  # a length
    kappa: float = 0.0


@dataclass(frozen=True)
class End:
    """One end of a beam; `angle` is that of its section before anything moves."""

    beam: int
    last: bool
    angle: float = 0.0
    hinged: bool = False


@dataclass(frozen=True)
class Node:
    """Ends that meet, all but the hinged ones at the angles between them; force and moment from outside."""

    ends: tuple[End, ...]
    force: tuple[float, float] = (0.0, 0.0)
    moment: float = 0.0


@dataclass(frozen=True)
class Clamp:
    """An end that is held at a place and an angle."""

    end: End
    place: tuple[float, float]


@dataclass(frozen=True)
class Network:
    """Beams, and what joins their ends: every end belongs to one joint."""

    beams: tuple[Beam, ...]
    joints: tuple[Node | Clamp, ...]

    def shoot(self, start: Array, s: float = 1.0, rtol: float = 1e-13) -> Array:
        """States (..., n_beams, 6) at the fraction s of all beams, from those at their starts."""
        L, EA, GA, EI, kappa = (
            np.array([getattr(b, k) for b in self.beams]) for k in ("length", "EA", "GA", "EI", "kappa")
        )
        weight = np.array([b.weight for b in self.beams])

        def rates(_: float, y: Array) -> Array:
            state = y.reshape(start.shape)
            theta, n_x, n_y, m = (state[..., i] for i in (THETA, N_X, N_Y, MOMENT))
            c, s = np.cos(theta), np.sin(theta)
            along, across = 1.0 + (c * n_x + s * n_y) / EA, (c * n_y - s * n_x) / GA
            x, y = c * along - s * across, s * along + c * across
            out = [x, y, kappa + m / EI, -weight[:, 0] + 0.0 * x, -weight[:, 1] + 0.0 * x, y * n_x - x * n_y]
            return (L[:, None] * np.stack(out, axis=-1)).ravel()

        if s == 0.0:
            return start
        found = solve_ivp(rates, (0.0, s), start.ravel(), "DOP853", rtol=rtol, atol=1e-2 * rtol)
        return found.y[:, -1].reshape(start.shape)

    def residual(self, start: Array, stop: Array) -> Array:
        """What the joints ask for; states at both ends may have leading dimensions."""
        out = []
        for joint in self.joints:
            if isinstance(joint, Clamp):
                state = (stop if joint.end.last else start)[..., joint.end.beam, :]
                out += [state[..., i] - value for i, value in enumerate((*joint.place, joint.end.angle))]
                continue
            ends = joint.ends
            states = [(stop if end.last else start)[..., end.beam, :] for end in ends]
            # what a beam does to the joint: at its start, all that lies beyond
            pull = [(-1.0 if end.last else 1.0) * state for end, state in zip(ends, states, strict=True)]
            out += [state[..., i] - states[0][..., i] for state in states[1:] for i in (X, Y)]
            out += [sum(p[..., i] for p in pull) + f for i, f in zip((N_X, N_Y), joint.force, strict=True)]
            out += [p[..., MOMENT] for p, end in zip(pull, ends, strict=True) if end.hinged]
            rigid = [i for i, end in enumerate(ends) if not end.hinged]
            turned = [states[i][..., THETA] - ends[i].angle for i in rigid]
            out += [angle - turned[0] for angle in turned[1:]]
            out.append(sum(pull[i][..., MOMENT] for i in rigid) + joint.moment)
        return np.stack(out, axis=-1)

    @threadpool_limits.wrap(limits=1)  # threads cost more than matrices of this size
    def solve(self, guess: Array, rtol: float = 1e-13) -> Array:
        """States (n_beams, 6) at the starts of all beams, by Newton's method."""
        n, y = len(self.beams), np.array(guess, dtype=float)
        size = np.tile(self.scale, n)
        for _ in range(40):
            # a beam's end depends on its own start only: all beams are changed at once, one entry after the other
            varied = y + 1j * STEP * np.vstack([np.zeros((1, 6)), np.eye(6)])[:, None, :]
            stop = self.shoot(varied, rtol=rtol)
            by_start = 1j * stop[1:].imag  # (entry, beam, 6)
            beam, entry = np.divmod(np.arange(6 * n), 6)
            starts, stops = (np.tile(x.astype(complex), (6 * n, 1, 1)) for x in (y, stop[0].real))
            starts[np.arange(6 * n), beam, entry] += 1j * STEP
            stops[np.arange(6 * n), beam] += by_start[entry, beam]
            J = self.residual(starts, stops).imag.T / STEP
            e = self.residual(y, stop[0].real)
            step = -np.linalg.solve(J * size, e) * size
            largest = np.abs(step / size).max()
            y = y + step.reshape(n, 6) / max(1.0, largest)
            if largest < 1e-12:
                return y
        raise ArithmeticError(f"no equilibrium, last step {largest}")

    @property
    def scale(self) -> Array:
        """Sizes of places, angles, forces and moments."""
        L = max(b.length for b in self.beams)
        M = max(b.EI / b.length for b in self.beams)
        return np.array([L, L, 1.0, M / L, M / L, M])


# -- the fin-ray


BASES = ((0.0, 0.0), (0.05, 0.0))
SIDE, N_RODS, ROD = 0.18, 6, 0.03
YOUNG, POISSON, DENSITY, GRAVITY = 2e9, 0.35, 1050.0, 9.81
APEX = (0.025, float(np.sqrt(SIDE**2 - 0.025**2)))


def strip(length: float, thickness: float, width: float) -> Beam:
    """A rod of the fin-ray under its weight."""
    A = thickness * width
    shear = YOUNG / (2.0 * (1.0 + POISSON))
    return Beam(length, YOUNG * A, shear * A, YOUNG * width * thickness**3 / 12.0, (0.0, -DENSITY * A * GRAVITY))


def fin_ray(slide: float) -> tuple[Network, Array]:
    """The fin-ray, its right base moved up by `slide`, and where its beams start before anything moves.

    Beams 0 to 5 are the left wall from its base on, 6 to 11 the right one, 12 to 16 the ribs from left to right.
    """
    lean = float(np.arctan2(APEX[1], APEX[0]))
    angles = (lean, np.pi - lean)
    beams = [strip(ROD, 1e-3, 2.5e-2) for _ in range(2 * N_RODS)]
    start = [
        (base[0] + ROD * k * np.cos(a), base[1] + ROD * k * np.sin(a), a)
        for base, a in zip(BASES, angles, strict=True)
        for k in range(N_RODS)
    ]
    joints: list[Node | Clamp] = [
        Clamp(End(N_RODS * side, False, angles[side]), (BASES[side][0], side * slide)) for side in (0, 1)
    ]
    for k in range(1, N_RODS):
        rib = len(beams)
        beams.append(strip(0.05 * (1.0 - k / N_RODS), 1e-3, 1e-2))
        start.append((*start[k][:2], 0.0))
        for side, a in enumerate(angles):
            wall = N_RODS * side + k
            joints.append(Node((End(wall - 1, True, a), End(wall, False, a), End(rib, bool(side), 0.0, True))))
    joints.append(Node((End(N_RODS - 1, True, angles[0]), End(2 * N_RODS - 1, True, angles[1]))))
    return Network(tuple(beams), tuple(joints)), np.pad(start, ((0, 0), (0, 3)))


@dataclass(frozen=True)
class FinRayShape:
    """What is compared of a fin-ray at rest."""

    walls: Array  # (2, 7, 2) places of the nodes of the left and the right wall, from base to apex
    force: float  # that moves the right base up

    @property
    def apex(self) -> Array:
        return self.walls[0, -1]


def fin_ray_shape(slide: float, rtol: float = 1e-13, cut: int = 1) -> FinRayShape:
    """The fin-ray at rest, every rod shot in `cut` pieces."""
    network, guess = fin_ray(slide)
    if cut > 1:
        network, guess = refined(network, guess, cut)
    start = network.solve(guess, rtol)
    stop = network.shoot(start, rtol=rtol)
    walls = np.stack([
        np.vstack([start[side * N_RODS * cut : (side + 1) * N_RODS * cut : cut, :2],
                   stop[(side + 1) * N_RODS * cut - 1, :2]]) for side in (0, 1)
    ])  # fmt: skip
    return FinRayShape(walls, -float(start[N_RODS * cut, N_Y]))


def refined(network: Network, guess: Array, cut: int) -> tuple[Network, Array]:
    """The same network with every beam cut into pieces, which lie straight between the guessed ends."""
    stop = network.shoot(guess)
    beams, starts, joints = [], [], []
    for k, beam in enumerate(network.beams):
        for piece in range(cut):
            beams.append(Beam(beam.length / cut, beam.EA, beam.GA, beam.EI, beam.weight, beam.kappa))
            starts.append(guess[k] + piece / cut * (stop[k] - guess[k]))
        joints += [Node((End(k * cut + i, True), End(k * cut + i + 1, False))) for i in range(cut - 1)]

    def moved(end: End) -> End:
        return End(end.beam * cut + (cut - 1 if end.last else 0), end.last, end.angle, end.hinged)

    for joint in network.joints:
        joints.append(
            Clamp(moved(joint.end), joint.place) if isinstance(joint, Clamp)
            else Node(tuple(map(moved, joint.ends)), joint.force, joint.moment)
        )  # fmt: skip
    return Network(tuple(beams), tuple(joints)), np.array(starts)


def energy(network: Network, start: Array, n: int = 12) -> float:
    """Elastic energy and that of the weight, by Gauss's rule along every beam."""
    x, w = np.polynomial.legendre.leggauss(n)
    total = 0.0
    for s, share in zip((1.0 + x) / 2.0, w / 2.0, strict=True):
        for beam, (place_x, place_y, angle, n_x, n_y, m) in zip(network.beams, network.shoot(start, s), strict=True):
            along, across = np.cos(angle) * n_x + np.sin(angle) * n_y, np.cos(angle) * n_y - np.sin(angle) * n_x
            elastic = along**2 / beam.EA + across**2 / beam.GA + m**2 / beam.EI
            total += share * beam.length * (0.5 * elastic - beam.weight[0] * place_x - beam.weight[1] * place_y)
    return float(total)
