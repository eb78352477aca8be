"""Modes of z'' + D z' + K z = 0: natural ones, and those of the damped, gyroscopic motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from sorosim.base.arrays import Array

Complex = NDArray[np.complex128]

# relative to the largest entry: above this a matrix is not symmetric
NOISE = 1e-9
# a damping ratio beyond which nothing is seen to oscillate
OVERDAMPED = 0.99
# below this part of the gyroscopic forces damping is rounding, and nothing takes energy
SKEW = 1e-12
# negative curvatures below this part of the terms that cancel in them are rounding: of motions that no force opposes
NEUTRAL = 1e-11
# safety factor over the rounding of a quadratic form
FORM = 8.0
EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes of a linearised motion, z(t) = Re(shape exp(eigenvalue t)).

    One for each rigid-body mode, each pair of conjugate eigenvalues and each real eigenvalue, in this order: rigid-body
    modes; growth, the fastest first; oscillations by rising frequency; decay, the slowest first. An overdamped mode is
    two real decays. A mode with a damping ratio above 0.99 counts among those, since its oscillation is
    invisible: a period leaves 1e-19 of it.
    """

    eigenvalues: Complex  # (n,) [1/s], none with a negative imaginary part
    shapes: Complex  # (n_coordinates, n), scaled to phi^H M phi = 1, turned in phase so that they are as real as can be

    def __len__(self) -> int:
        return len(self.eigenvalues)

    @property
    def frequencies(self) -> Array:
        """Frequencies (n,) at which they oscillate [Hz], zero for what does not."""
        return np.asarray(np.abs(self.eigenvalues.imag) / (2.0 * np.pi))

    @property
    def damping_ratios(self) -> Array:
        """-Re/abs(eigenvalue) (n,): 0 undamped, 1 decays without oscillation, negative grows, NaN for rigid bodies."""
        size = np.abs(self.eigenvalues)
        ratios: Array = np.divide(0.0 - self.eigenvalues.real, size, out=np.full(len(size), np.nan), where=size > 0.0)
        return ratios

    @property
    def time_constants(self) -> Array:
        """Times (n,) in which they fall to 1/e [s]; infinite if they do not, negative if they grow."""
        decay = 0.0 - self.eigenvalues.real
        constants: Array = np.divide(1.0, decay, out=np.full(len(decay), np.inf), where=decay != 0.0)
        return constants

    @property
    def words(self) -> tuple[str, ...]:
        """What each of them is: rigid body, oscillates, flutters, decays or grows."""
        return tuple(map(_word, self.eigenvalues))


def _word(eigenvalue: complex) -> str:
    if eigenvalue == 0.0:
        return "rigid body"
    if _oscillates(eigenvalue):
        return "flutters" if eigenvalue.real > NOISE * abs(eigenvalue) else "oscillates"
    return "grows" if eigenvalue.real > 0.0 else "decays"


def _oscillates(eigenvalue: complex) -> bool:
    """Whether more than a trace is left of a motion after a period."""
    return eigenvalue.imag > 0.0 and abs(eigenvalue.real) <= OVERDAMPED * abs(eigenvalue)


def is_symmetric(K: Array) -> bool:
    """Whether a matrix is symmetric up to noise."""
    return bool(np.abs(K - K.T).max(initial=0.0) <= NOISE * np.abs(K).max(initial=0.0))


def congruent(X: Array, U: Array) -> Array:
    """U^-T X U^-1: a matrix in the coordinates in which the metric U^T U is the unit matrix."""
    half = scipy.linalg.solve_triangular(U, X, trans="T")
    return np.asarray(scipy.linalg.solve_triangular(U, half.T, trans="T").T)


def natural(K: Array) -> tuple[Array, Array]:
    """Squares of the natural frequencies (n,), rising, and modes (n, n) of z'' + K z = 0.

    Squares that are nothing but rounding are zero. For a K that is not symmetric they are the real parts of its
    eigenvalues and vectors.
    """
    if not is_symmetric(K):
        complex_squares, complex_shapes = scipy.linalg.eig(K)
        order = np.argsort(complex_squares.real, kind="stable")
        return complex_squares.real[order], complex_shapes.real[:, order]
    squares, shapes = scipy.linalg.eigh(0.5 * (K + K.T))
    squares[np.abs(squares) <= len(K) * EPS * np.abs(squares).max(initial=0.0)] = 0.0
    return squares, shapes


def stiffness_rounding(K: Array) -> float:
    """How much of any entry of a stiffness may be rounding: moments that cancel there are as large as its others.

    It matters where hardly anything moves: of a thin bar that hangs on a ball joint and may turn about itself, say.
    """
    return FORM * EPS * float(np.abs(K).max(initial=0.0))


class Relaxation(NamedTuple):
    """Forces P d against coordinates z by internal strains d, which follow d' = S z' - d/time."""

    pull: Array  # P (n, n_strains)
    follow: Array  # S (n_strains, n)
    time: Array  # (n_strains,) [s]

    def transformed(self, T: Array) -> Relaxation:
        """The same for coordinates y with z = T y."""
        return Relaxation(T.T @ self.pull, self.follow @ T, self.time)


def spectrum(
    D: Array, K: Array, squares: Array, shapes: Array, relaxation: Relaxation | None = None
) -> tuple[Complex, Complex]:
    """All 2 n eigenvalues of z'' + D z' + K z = 0, and their shapes (n, 2 n) by columns, of any length.

    With internal strains z'' + D z' + K z + P d = 0, and there is one more of each for each of them.

    squares, shapes: of `natural`. Where K is symmetric the state is [W z; z'] in natural modes, W^2 = |squares|: the
    matrix is as large as the highest frequency, not its square, and skew where nothing is lost, so that slow modes keep
    their digits beside stiff ones and undamped ones have no real part.
    """
    n = len(K)
    if not is_symmetric(K):
        unit = np.sqrt(np.abs(K).max(initial=0.0)) or 1.0
        S = np.block([[np.zeros((n, n)), unit * np.eye(n)], [-K / unit, -D]])
        values, vectors = np.linalg.eig(_with_strains(S, n, relaxation))
        return values.astype(complex), vectors[:n].astype(complex)
    D = shapes.T @ D @ shapes
    if relaxation is not None:
        relaxation = relaxation.transformed(shapes)
    elif _uncoupled(D):
        losses = np.diag(D).copy()
        losses[(squares == 0.0) & (np.abs(losses) <= n * EPS * np.abs(losses).max(initial=0.0))] = 0.0  # drift
        values = np.concatenate(_quadratic(losses, squares))
        return values, np.hstack([shapes, shapes]).astype(complex)
    # a mode without stiffness has no row W z: its rest is an eigenvector, and its drift is no Jordan block
    stiff = np.flatnonzero(squares)
    r, k = n - len(stiff), len(stiff)
    W, sign = np.zeros((k, n)), np.sign(squares[stiff])
    W[np.arange(k), stiff] = np.sqrt(np.abs(squares[stiff]))
    S = _with_strains(np.block([[np.zeros((k, k)), W], [-W.T * sign, -D]]), k, relaxation)
    if (
        relaxation is None
        and (sign > 0.0).all()
        and np.abs(D + D.T).max(initial=0.0) <= SKEW * np.abs(D).max(initial=0.0)
    ):
        turning, vectors = np.linalg.eigh(0.5j * (S - S.T))  # S y = -i turning y
        values = -1j * turning
    else:
        values, vectors = (x.astype(complex) for x in np.linalg.eig(S))
    drift = np.abs(values) <= len(S) * EPS * np.abs(S).max(initial=0.0)
    if r:
        values[drift] = 0.0
    resting = np.flatnonzero(squares == 0.0)
    modal = np.hstack([np.eye(n, dtype=complex)[:, resting], vectors[k : k + n]])
    return np.concatenate([np.zeros(r, dtype=complex), values]), shapes @ modal


def _with_strains(S: Array, first: int, relaxation: Relaxation | None) -> Array:
    """The matrix S of a state, whose rates z' begin at `first`, with internal strains below."""
    if relaxation is None:
        return S
    P, F, time = relaxation
    right, left = np.zeros((len(S), len(time))), np.zeros((len(time), len(S)))
    right[first : first + len(P)], left[:, first : first + len(P)] = -P, F
    return np.block([[S, right], [left, np.diag(-1.0 / time)]])


def _uncoupled(D: Array) -> bool:
    """Whether damping couples no natural modes, beyond noise."""
    diagonal = np.sqrt(np.abs(np.diag(D)))
    other = np.abs(D - np.diag(np.diag(D)))
    return bool((other <= NOISE * np.outer(diagonal, diagonal) + len(D) * EPS * np.abs(D).max(initial=0.0)).all())


def _quadratic(damping: Array, squares: Array) -> tuple[Complex, Complex]:
    """Both roots of x^2 + damping x + squares, without cancellation."""
    half = -0.5 * damping
    root = np.sqrt((half**2 - squares).astype(complex))
    large = np.where(half > 0.0, half + root, half - root)
    small = np.divide(squares, large, out=np.zeros_like(large), where=large != 0.0)
    real = root.imag == 0.0
    return np.where(real, large, half + root), np.where(real, small, half - root)


def sorted_modes(values: Complex, shapes: Complex, M: Array, n_rigid: int) -> Modes:
    """Modes of all 2 n eigenvalues and shapes; `n_rigid` of them have no stiffness.

    M (n, n): mass matrix in the coordinates of the shapes.
    """
    modes: list[tuple[int, float, int]] = []
    rigid = 0
    for i, value in enumerate(values):
        if value == 0.0:
            rigid += 1
            if rigid <= n_rigid:  # beyond: their drift
                modes.append((0, float(i), i))
        elif _oscillates(value):
            modes.append((2, float(value.imag), i))
        elif value.imag >= 0.0:
            modes.append((1 if value.real > 0.0 else 3, -float(value.real), i))
    order = [i for _, _, i in sorted(modes)]
    out = shapes[:, order].astype(complex)
    out = out / np.sqrt(np.sum(out.conj() * (M @ out), axis=0).real)
    # the phase in which the sum of squares is real: the real part is as large as can be
    phase = np.angle(np.sum(out * (M @ out), axis=0))
    out = out * np.exp(-0.5j * phase)
    largest = out[np.abs(out.real).argmax(axis=0), np.arange(out.shape[1])].real if out.size else np.ones(0)
    return Modes(values[order], out * np.where(largest < 0.0, -1.0, 1.0))
