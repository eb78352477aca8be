"""Linearised motion M z'' + D z' + K z = F du about an equilibrium or a steady motion: modes, stability, A and B."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpotrf

from sorosim.base.arrays import Array, IntArray, Mask
from sorosim.base.declare import Integer
from sorosim.base.errors import InputError
from sorosim.base.public import public
from sorosim.base.registry import LazyMethod
from sorosim.base.validation import columns, describe
from sorosim.mechanics.linear.eigenmodes import (
    EPS,
    FORM,
    NEUTRAL,
    NOISE,
    SKEW,
    Modes,
    Relaxation,
    congruent,
    is_symmetric,
    natural,
    sorted_modes,
    spectrum,
    stiffness_rounding,
)
from sorosim.mechanics.linear.growth import Growth


@public
@dataclass(frozen=True, eq=False)
class Linearization:
    """Motion about an equilibrium or a steady motion, M z'' + D z' + K z = F du; the coordinates move by dq = Z z.

    `Robot.linearize` makes it. Without loops z are the coordinates that are free; with loops, displacements along the
    states in which they are closed. Where materials relax, internal strains d of Maxwell elements belong to the state:
    M z'' + D z' + K z + P d = F du, d' = S z' - d/time; K is the stiffness after a long time.
    """

    M: Array  # (n, n) mass
    D: Array  # (n, n) damping, with gyroscopic terms
    K: Array  # (n, n) tangent stiffness
    F: Array  # (n, n_actuators) generalised force of each input
    Z: Array  # (ndof, n)
    q: Array  # (ndof,)
    qd: Array  # (ndof,) steady rates
    u: Array  # (n_actuators,)
    lam: Array  # (n_multipliers,) of loops
    free: IntArray  # coordinates that may move
    names: tuple[str, ...]  # of z
    robot: Any = field(default=None, repr=False)
    relaxation: Relaxation | None = None  # P, S and times of the n_strains internal strains

    # -- state space -----------------------------------------------------------------------------------------------

    @cached_property
    def A(self) -> Array:
        """A (2 n, 2 n) of d/dt [z; z'] = A [z; z'] + B du; with internal strains the state is [z; z'; d]."""
        n, relaxation = len(self.M), self.relaxation
        P, S, time = relaxation or Relaxation(np.zeros((n, 0)), np.zeros((0, n)), np.zeros(0))
        lower = -scipy.linalg.cho_solve((self._U, False), np.hstack([self.K, self.D, P]))
        upper = np.hstack([np.zeros((n, n)), np.eye(n), np.zeros_like(P)])
        return np.vstack([upper, lower, np.hstack([np.zeros_like(S), S, np.diag(-1.0 / time)])])

    @property
    def n_strains(self) -> int:
        """Number of internal strains, 0 where no material relaxes."""
        return 0 if self.relaxation is None else len(self.relaxation.time)

    @cached_property
    def B(self) -> Array:
        """B (2 n, n_actuators) of d/dt [z; z'] = A [z; z'] + B du; with internal strains zero for them."""
        none = np.zeros((self.n_strains, self.F.shape[1]))
        return np.vstack([np.zeros_like(self.F), scipy.linalg.cho_solve((self._U, False), self.F), none])

    def positions(self, outputs: Sequence[str | tuple[str, float]] | None = None) -> tuple[Array, tuple[str, ...]]:
        """Output matrix C (3 n_outputs, 2 n) of positions in the world [m], and the names of its rows.

        Parameters
        ----------
        outputs : sequence of link, or (link, s), optional
            Links at their tips, or rods at s. Default: `Robot.outputs`.
        """
        robot = self._of_robot("positions")
        own = robot.outputs
        if isinstance(outputs, str):
            outputs = [outputs]
        if not (outputs is None or isinstance(outputs, Sequence)):
            raise InputError("outputs", "a list of links, or of (link, s)", describe(outputs))
        if outputs is None:
            (poses, jacobians), names, places = own.jacobians(self.q), own.names, own.places
        else:
            places = tuple((place, 1.0) if isinstance(place, str) else _place(place) for place in outputs)
            names = tuple(link for link, _ in places)
            poses = [robot.pose(self.q, link, s=s) for link, s in places]
            jacobians = [robot.jacobian(self.q, link, s=s) for link, s in places]
        rows = [g[:3, :3] @ J[3:] @ self.Z for g, J in zip(poses, jacobians, strict=True)]
        C = np.concatenate([np.zeros((0, len(self.M))), *rows])
        labels = [name if s == 1.0 else f"{link}({s:g})" for name, (link, s) in zip(names, places, strict=True)]
        axes = tuple(f"{label}.{axis}" for label in labels for axis in "xyz")
        return np.hstack([C, np.zeros((len(C), len(self.M) + self.n_strains))]), axes

    # -- modes -----------------------------------------------------------------------------------------------------

    @property
    def frequencies(self) -> Array:
        """Undamped natural frequencies (n,) [Hz], rising; 0 of rigid bodies, NaN where the stiffness is negative.

        They take M and the stiffness K only: where D is gyroscopic the frequencies are those of `damped`.
        """
        with np.errstate(invalid="ignore"):
            return np.asarray(np.sqrt(self._natural[0]) / (2.0 * np.pi))

    @cached_property
    def modes(self) -> Array:
        """Their shapes, one a column, scaled to phi^T M phi = 1: in z, with loops in all coordinates."""
        shapes = scipy.linalg.solve_triangular(self._U, self._natural[1])
        return self.Z @ shapes if len(self.lam) else shapes

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues (2 n,) of A [1/s], by falling real part; with internal strains one more for each."""
        values = self._spectrum[0]
        return values[np.argsort(-values.real, kind="stable")]

    @cached_property
    def damped(self) -> Modes:
        """The modes of the damped, gyroscopic motion in all coordinates, in the order in which `mode` counts them."""
        values, shapes = self._spectrum
        n_rigid = int((self._natural[0] == 0.0).sum()) if is_symmetric(self._scaled[0]) else len(values)
        modes = sorted_modes(values, scipy.linalg.solve_triangular(self._U, shapes), self.M, n_rigid)
        return replace(modes, shapes=self.Z @ modes.shapes)

    @cached_property
    def stable(self) -> bool:
        """Whether no small motion grows; neutral ones, which no force opposes, may drift on (`stability`).

        At rest, where K is symmetric and D gives no energy, that is K having no negative eigenvalue beyond rounding;
        otherwise that no eigenvalue of the motion has a positive real part beyond rounding.
        """
        K, D = self._scaled
        if is_symmetric(K) and not self.qd.any():
            if self._natural[0].min(initial=np.inf) < 0.0:
                return False
            losses = np.linalg.eigvalsh(0.5 * (D + D.T))
            if losses.min(initial=0.0) >= -NOISE * losses.max(initial=0.0):
                return True
        # against its own size: fast damped modes, however fast, must not hide that a slow one grows
        values = self._spectrum[0]
        size = np.abs(values)
        rounding = 2 * len(K) * EPS * size.max(initial=0.0)
        return bool((values.real <= np.where(self._drifts, np.inf, NOISE * size + rounding)).all())

    @cached_property
    def growth(self) -> Growth:
        """How many modes grow: by divergence, with a real eigenvalue, and by flutter, with a complex pair."""
        words = self.damped.words
        return Growth(words.count("grows"), words.count("flutters"))

    @property
    def stability(self) -> str:
        """The same in words: "stable"; "unstable (divergence)", "unstable (flutter)" or both where modes grow, see
        `growth`; or "neutral", as of rigid bodies that drift on.
        """
        if not self.stable:
            return f"unstable ({self.growth.words})" if self.growth.unstable else "unstable"
        return "neutral" if self._drifts.any() else "stable"

    @property
    def _drifts(self) -> Mask:
        """Which eigenvalues are zero within rounding: a double one, of rest and drift, has half of the digits."""
        values = self._spectrum[0]
        if is_symmetric(self._scaled[0]):
            return np.asarray(values == 0.0)
        size = np.abs(values)
        return np.asarray(size**2 <= 2 * len(values) * EPS * size.max(initial=0.0) ** 2)

    @cached_property
    def _U(self) -> Array:
        """M = U^T U."""
        return np.asarray(scipy.linalg.cholesky(self.M))

    @cached_property
    def _scaled(self) -> tuple[Array, Array]:
        """K and D in coordinates in which M is the unit matrix: symmetric where they are, and well scaled."""
        even, odd = 0.5 * (self.D + self.D.T), 0.5 * (self.D - self.D.T)
        if np.abs(even).max(initial=0.0) <= SKEW * np.abs(odd).max(initial=0.0):
            even = np.zeros_like(even)  # gyroscopic forces alone take no energy
        K, even, odd = (congruent(X, self._U) for X in (self.K, even, odd))
        return K, 0.5 * (even + even.T + odd - odd.T)

    @cached_property
    def _natural(self) -> tuple[Array, Array]:
        """Squares and natural modes in those coordinates; squares that are rounding of phi^T K phi are zero."""
        squares, shapes = natural(self._scaled[0])
        if is_symmetric(self._scaled[0]):
            phi = np.abs(scipy.linalg.solve_triangular(self._U, shapes))
            form = np.sum(phi * (np.abs(self.K) @ phi), axis=0)
            # where K is singular obliquely rounding may be more; 1/s^2: what grows within days is neutral
            noise = NEUTRAL * (form + 1.0) + stiffness_rounding(self.K) * np.sum(phi**2, axis=0)
            squares[(np.abs(squares) <= FORM * EPS * form) | ((squares < 0.0) & (squares >= -noise))] = 0.0
        return squares, shapes

    @cached_property
    def _spectrum(self) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        (K, D), relaxation = self._scaled, self.relaxation
        if relaxation is not None:
            relaxation = relaxation.transformed(scipy.linalg.solve_triangular(self._U, np.eye(len(K))))
        return spectrum(D, K, *self._natural, relaxation)

    # -- exports ---------------------------------------------------------------------------------------------------

    def reduce(self, n_modes: int) -> Linearization:
        """The motion of the slowest natural modes alone: z are their coordinates, and M the unit matrix.

        Where K is not symmetric the modes are those of its symmetric part (a Galerkin projection).

        Parameters
        ----------
        n_modes : int
            How many, from 1 to n.
        """
        n = Integer(1, len(self.M)).argument("n_modes", n_modes)
        K = self._scaled[0]
        shapes = self._natural[1] if is_symmetric(K) else np.linalg.eigh(0.5 * (K + K.T))[1]
        phi = scipy.linalg.solve_triangular(self._U, shapes[:, :n])
        M, D, K = (phi.T @ X @ phi for X in (self.M, self.D, self.K))
        names = tuple(f"mode {k + 1}" for k in range(n))
        relaxation = None if self.relaxation is None else self.relaxation.transformed(phi)
        F, Z = phi.T @ self.F, self.Z @ phi
        return replace(self, M=0.5 * (M + M.T), D=D, K=K, F=F, Z=Z, names=names, relaxation=relaxation)

    def to_control(self, outputs: Sequence[str | tuple[str, float]] | None = None) -> Any:
        """The motion as a `control.StateSpace` of the package python-control, with names, their dots as underscores.

        Parameters
        ----------
        outputs : sequence of link, or (link, s), optional
            Places whose positions are the outputs, see `positions`. Default: `Robot.outputs`.

        Raises
        ------
        InputError
            A place that is not known, or no python-control here.
        """
        try:
            import control
        except ImportError:
            got, hint = "none", "pip install 'sorosim[control]', or use the arrays A, B and positions()"
            raise InputError("to_control", "the package python-control", got, hint) from None
        C, names = self.positions(outputs)
        states = [*self.names, *(f"d({name})/dt" for name in self.names)]
        states += [f"strain[{i}]" for i in range(self.n_strains)]
        inputs = list(self._of_robot("to_control").actuator_names)
        through = np.zeros((len(C), len(inputs)))
        # there a dot stands between a system and its signal
        labels = ([name.replace(".", "_") for name in group] for group in (states, inputs, names))
        return control.ss(self.A, self.B, C, through, **dict(zip(("states", "inputs", "outputs"), labels, strict=True)))

    save = LazyMethod("sorosim.files.linear:save")
    shares = LazyMethod("sorosim.analysis.results.modes:shares")
    mode = LazyMethod("sorosim.analysis.results.modes:mode")
    plot = LazyMethod("sorosim.view.viz.plots:plot_modes")
    _repr_html_ = LazyMethod("sorosim.view.viz.notebook:linearization_html")
    _repr_png_ = LazyMethod("sorosim.view.viz.notebook:linearization_png")

    def _of_robot(self, what: str) -> Any:
        if self.robot is None:
            raise InputError(what, "the motion of a robot", "matrices alone", "Robot.linearize knows the robot")
        return self.robot

    def __repr__(self) -> str:
        n, name = len(self.M), "matrices" if self.robot is None else f"'{self.robot.name}'"
        return f"<Linearization of {name}: {n} coordinates, {self.stability}>"


def _place(given: object) -> tuple[str, float]:
    """A link and a part of its length."""
    if not isinstance(given, Sequence) or len(given) != 2:
        raise InputError("outputs", "links, or (link, s), in a list", describe(given))
    return given[0], given[1]


def linearize(M: ArrayLike, D: ArrayLike, K: ArrayLike, B: ArrayLike) -> Linearization:
    """Linearise M z'' + D z' + K z = B u.

    Parameters
    ----------
    M, D, K : (n, n)
        Mass, damping and tangent stiffness. M is symmetric positive definite; D and K need not be symmetric.
    B : (n, m)
        Generalised force of each input.

    Raises
    ------
    InputError
        Another shape, numbers that are not finite, or an M that is not symmetric and positive definite.
    """
    n = np.shape(M)[0] if np.ndim(M) == 2 else 0
    mass, damping, stiffness = (_square(name, X, n) for name, X in zip("MDK", (M, D, K), strict=True))
    forces = columns("B", B, n)
    if forces.ndim != 2:
        raise InputError("B", f"a matrix ({n}, m), a column for each input", f"shape {forces.shape}")
    if not is_symmetric(mass) or dpotrf(mass)[1]:
        raise InputError("M", "a symmetric positive definite matrix", "another")
    zero, names = np.zeros(n), tuple(f"z[{i}]" for i in range(n))
    nothing = np.zeros(0)
    return Linearization(
        mass, damping, stiffness, forces, np.eye(n), zero, zero, np.zeros(forces.shape[1]), nothing, np.arange(n), names
    )


def _square(where: str, given: ArrayLike, n: int) -> Array:
    """A matrix (n, n), refusing anything else."""
    if np.shape(given) != (n, n):
        raise InputError(where, "a square matrix, as large as M", f"shape {np.shape(given)}")
    return columns(where, given, n)
