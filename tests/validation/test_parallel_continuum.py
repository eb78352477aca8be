"""The continuum Stewart platform against a shooting solution of Kirchhoff's equations of its legs and its plate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import sorosim as so
from sorosim.mechanics.lie.so3 import skew

LEGS = [f"{side}{i}_rod" for side in ("left", "right") for i in (1, 2, 3)]
YOUNG, SHEAR, DENSITY, RADIUS, CIRCLE, TURN = 200e9, 200e9 / 2.6, 7850.0, 0.65e-3, 0.08, np.deg2rad(20.0)
AREA, INERTIA = np.pi * RADIUS**2, 0.25 * np.pi * RADIUS**4
PLATE_MASS, CENTRE = 900.0 * np.pi * 0.09**2 * 5e-3, np.array([0.0, 0.0, 2.5e-3])
UPRIGHT = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  # x of a rod is up
GRAVITY, LENGTH = np.array([0.0, 0.0, -9.81]), 0.26


def holes() -> tuple[np.ndarray, np.ndarray]:
    """Places (6, 3) where the legs leave the base, and where they are clamped in the plate."""
    middle = np.deg2rad([120.0 * i + side for side in (-30.0, 30.0) for i in (1, 2, 3)])
    turn = np.repeat([TURN, -TURN], 3)
    base, plate = (CIRCLE * np.stack([np.cos(a), np.sin(a), 0.0 * a], axis=1) for a in (middle - turn, middle + turn))
    return base, plate


def end_of_leg(start: np.ndarray, base: np.ndarray, length: float) -> tuple[np.ndarray, ...]:
    """Position, rotation, force and moment at the end of a leg that starts with a force and a moment (6,)."""
    stiffness = np.array([SHEAR * 2.0 * INERTIA, YOUNG * INERTIA, YOUNG * INERTIA])

    def slope(_: float, y: np.ndarray) -> np.ndarray:
        R, n, m = y[3:12].reshape(3, 3), y[12:15], y[15:]
        turning = R @ skew(R.T @ m / stiffness)
        return np.concatenate([R[:, 0], turning.ravel(), -DENSITY * AREA * GRAVITY, -np.cross(R[:, 0], n)])

    y0 = np.concatenate([base, UPRIGHT.ravel(), start])
    y = solve_ivp(slope, (0.0, length), y0, method="DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
    return y[:3], y[3:12].reshape(3, 3), y[12:15], y[15:]


def shoot(lengths: np.ndarray, load: np.ndarray, height: float) -> np.ndarray:
    """Pose (4, 4) of the plate under a force on its frame: Newton's method on forces at the feet and the pose."""
    base, clamps = holes()
    z = np.zeros(42)  # 6 forces [N] and moments [0.1 N m], place [dm] and rotation vector of the plate
    z[38] = 10.0 * height
    scale, aside = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1]), clamps - base
    # as beams that are clamped at both ends start; a straight column is singular
    shear, bending = 12.0 * YOUNG * INERTIA / LENGTH**3 * aside, 6.0 * YOUNG * INERTIA / LENGTH**2 * aside
    z[:36] = (np.hstack([shear, np.cross([0.0, 0.0, 1.0], bending)]) / scale).ravel()

    def pose(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 0.1 * z[36:39], Rotation.from_rotvec(z[39:]).as_matrix()

    def residual(z: np.ndarray, ends: list[tuple[np.ndarray, ...]]) -> np.ndarray:
        place, R = pose(z)
        force, moment, out = PLATE_MASS * GRAVITY + load, np.cross(R @ CENTRE, PLATE_MASS * GRAVITY), []
        for (p, turned, n, m), clamp in zip(ends, clamps, strict=True):
            lever = R @ clamp
            out += [10.0 * (p - place - lever), Rotation.from_matrix((R @ UPRIGHT).T @ turned).as_rotvec()]
            force, moment = force - n, moment - m - np.cross(lever, n)
        return np.concatenate([*out, force, 10.0 * moment])

    def end(k: int, start: np.ndarray) -> tuple[np.ndarray, ...]:
        return end_of_leg(start * scale, base[k], lengths[k])

    for _ in range(30):
        ends = [end(k, z[6 * k : 6 * k + 6]) for k in range(6)]
        r, J, h = residual(z, ends), np.zeros((42, 42)), 1e-6
        if np.abs(r).max() < 1e-9:
            place, R = pose(z)
            return np.block([[R, place[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
        for j in range(42):
            moved, k = z + h * np.eye(42)[j], j // 6
            changed = [end(k, moved[6 * k : 6 * k + 6]) if i == k else one for i, one in enumerate(ends)]
            J[:, j] = (residual(moved, changed) - r) / h
        step = np.linalg.solve(J, -r)
        z = z + step * min(1.0, 1.0 / np.abs(step).max())
    raise AssertionError("no solution")


@pytest.mark.slow
@pytest.mark.parametrize("case", range(3))
def test_the_plate_is_where_kirchhoff_s_equations_have_it(case, rng):
    robot = so.load("continuum_stewart", set={"parameters.order": 9, "parameters.points": 80})
    feeds, load = (
        rng.uniform(-0.02, 0.04, 6),
        [np.zeros(3), np.array([0.0, 0.0, -1.5]), np.array([0.5, -0.3, 0.4])][case],
    )
    loaded = robot.with_loads(push=so.Wrench("plate", force=tuple(load)))
    eq = so.statics(loaded, driven=dict(zip(LEGS, map(float, feeds), strict=True)))
    found = shoot(LENGTH + feeds, load, eq.tip("plate")[2])
    assert_allclose(robot.pose(eq.q, "plate"), found, rtol=0.0, atol=1e-7 * LENGTH)
