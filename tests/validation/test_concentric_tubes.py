"""Concentric tubes against Rucker, Jones and Webster's equations (2010), closed forms and a condition of stability."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_bvp, solve_ivp
from scipy.optimize import brentq, fsolve
from scipy.spatial.transform import Rotation

import sorosim as so

NITINOL = so.Material(50e9, shear=19e9, density=6450.0)
RADII = ((1.2e-3, 1.0e-3), (0.95e-3, 0.75e-3), (0.7e-3, 0.5e-3))
NAMES = ("outer", "middle", "inner")


class Case(NamedTuple):
    """Three tubes, the outermost first, and what acts on them."""

    insertion: np.ndarray  # (3,) [m]
    behind: np.ndarray  # (3,) lengths behind the plate [m]
    curved: np.ndarray  # (3,) lengths of curves at the tips [m]
    curvature: np.ndarray  # (3, 2) about y and z [1/m]
    rotation: np.ndarray  # (3,) where they are held [rad]
    force: np.ndarray  # (3,) at the tip [N]
    moment: np.ndarray  # (3,) at the tip [N m]
    gravity: np.ndarray  # (3,) [m/s^2]
    at_tip: np.ndarray | None = None  # (3, 2) curvature at the tips; default: as where the curves begin
    torsion: np.ndarray = np.zeros(3)  # (3,) of the curves [1/m]
    sections: int = 1  # of a curve between two ends

    @property
    def bending(self) -> np.ndarray:
        """E I of each tube."""
        return np.array([NITINOL.young * 0.25 * np.pi * (r**4 - hole**4) for r, hole in RADII])

    @property
    def twist(self) -> np.ndarray:
        """G J of each tube."""
        return 2.0 * self.bending * NITINOL.shear_modulus / NITINOL.young

    @property
    def weight(self) -> np.ndarray:
        """Mass per length of each tube."""
        return np.array([NITINOL.density * np.pi * (r**2 - hole**2) for r, hole in RADII])

    def robot(self, **keys: object) -> so.Robot:
        """The robot of this case, as in its file."""
        tubes = {
            name: so.Tube(
                length=a + b, radius=r, inner_radius=hole, material=NITINOL, insertion=a,
                curves=[so.Curve(c, bending_y=k[0], bending_z=k[1], torsion=t, sections=self.sections)],
            )
            for name, a, b, (r, hole), c, k, t in zip(
                NAMES, self.insertion, self.behind, RADII, self.curved, self.along, self.torsion, strict=True
            )
        }  # fmt: skip
        load = so.Wrench(link="tubes", s=1.0, force=tuple(self.force), moment=tuple(self.moment))
        return so.Robot(so.Description(
            "tubes", (so.Link("tubes", so.Tubes(tubes)),), gravity=tuple(self.gravity), loads={"tip": load}, **keys,
        ))  # fmt: skip

    @property
    def along(self) -> np.ndarray:
        """Curvature (3, 2, 2) about y and z, where curves begin and at the tips."""
        return np.stack([self.curvature, self.curvature if self.at_tip is None else self.at_tip], axis=2)

    def preferred(self, s: np.ndarray) -> np.ndarray:
        """Curvature (2, 3, n) about y and z of each tube in its own axes, at the places s (n,) of curves."""
        x = s - (self.insertion - self.curved)[:, None]
        k = self.along[:, :, :1] + (self.along[:, :, 1:] - self.along[:, :, :1]) * (x / self.curved[:, None])[:, None]
        c, sine = np.cos(self.torsion[:, None] * x), np.sin(self.torsion[:, None] * x)
        return np.stack([c * k[:, 0] - sine * k[:, 1], sine * k[:, 0] + c * k[:, 1]])

    @property
    def driven(self) -> dict[str, float]:
        """Rotations by the names of coordinates."""
        return {f"tubes.{name}.rotation": angle for name, angle in zip(NAMES, self.rotation, strict=True)}


def random_case(rng: np.random.Generator) -> Case:
    """Tubes of the size of those in the literature, stable when they are not loaded."""
    insertion = np.cumsum(rng.uniform([0.05, 0.03, 0.03], [0.1, 0.07, 0.07]))
    curved = rng.uniform(0.4, 0.8, 3) * insertion
    turn, size = rng.uniform(-np.pi, np.pi, 3), rng.uniform([2.0, 4.0, 6.0], [5.0, 9.0, 14.0])
    return Case(
        insertion, rng.uniform(0.0, 0.1, 3), curved, np.stack([size * np.cos(turn), size * np.sin(turn)], axis=1),
        rng.uniform(-1.5, 1.5, 3), rng.uniform(-0.3, 0.3, 3), rng.uniform(-5e-3, 5e-3, 3), rng.uniform(-10, 10, 3),
    )  # fmt: skip


def boundary_value_problem(case: Case, guess: so.Equilibrium) -> np.ndarray:
    """Place (3,) of the tip: equations of Rucker, Jones and Webster (2010), x along, on all sections at once.

    Of each section the unknowns are the place, the quaternion of the innermost tube, the moment that bends in the axes
    of the world, the twists of all tubes and the angles of two from the innermost.
    """
    starts = case.insertion - case.curved
    marks = np.unique(np.round(np.concatenate([[0.0], case.insertion, starts[starts > 0.0]]), 14))
    curves = [np.any((starts < m) & (m < case.insertion)) for m in 0.5 * (marks[1:] + marks[:-1])]
    cut = [np.linspace(*pair, case.sections if curve else 1, endpoint=False)
           for pair, curve in zip(pairwise(marks), curves, strict=True)]  # fmt: skip
    ends = np.concatenate([*cut, marks[-1:]])
    a, length = ends[:-1], np.diff(ends)
    there = case.insertion > a[:, None] + 0.5 * length[:, None]  # (sections, 3)
    bent = there & (starts <= a[:, None] + 0.5 * length[:, None])
    beyond = np.maximum(case.insertion - ends[:, None], 0.0)  # (ends, 3) length of each tube beyond each end
    force_at = case.force + (beyond @ case.weight)[:, None] * case.gravity  # (ends, 3)
    n, size = len(length), 15

    def rates(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.empty_like(y)
        for k in range(n):
            z = y[size * k : size * (k + 1)]
            h, m, v = z[3:7], z[7:10], z[10:13]
            R = Rotation.from_quat(h.T).as_matrix()
            angle = np.vstack([z[13:15], 0.0 * x])
            ustar = case.preferred(a[k] + x * length[k]) * bent[k][:, None]
            c, s = np.cos(angle), np.sin(angle)
            preferred = np.stack([c * ustar[0] - s * ustar[1], s * ustar[0] + c * ustar[1]])  # (2, 3, n)
            EI = np.where(there[k], case.bending, 0.0)
            moment = np.einsum("nji,jn->in", R, m)
            u = (moment[1:] + np.einsum("i,cin->cn", EI, preferred)) / EI.sum()
            own = np.stack([c * u[0] + s * u[1], -s * u[0] + c * u[1]])  # of each tube, in its axes
            twisting = case.bending[:, None] / case.twist[:, None] * (own[0] * ustar[1] - own[1] * ustar[0])
            w = np.vstack([v[2], u])  # in the axes of the frame
            # quaternion rate h' = h (w, 0)/2, the scalar last
            xyz, r = h[:3], h[3]
            turning = 0.5 * np.vstack([r * w + np.cross(xyz.T, w.T).T, -np.sum(xyz * w, axis=0)])
            f = force_at[k][:, None] - (force_at[k] - force_at[k + 1])[:, None] * x
            tangent = R[:, :, 0].T
            out[size * k : size * (k + 1)] = length[k] * np.vstack([
                tangent, turning, -np.cross(tangent.T, f.T).T, np.where(there[k][:, None], twisting, 0.0),
                np.where(there[k][:2, None], v[:2] - v[2], 0.0),
            ])  # fmt: skip
        return out

    def conditions(ya: np.ndarray, yb: np.ndarray) -> np.ndarray:
        first, last = ya[:size], yb[-size:]
        base = case.rotation + case.behind * first[10:13]
        tangent = Rotation.from_quat(last[3:7]).as_matrix()[:, 0]
        out = [first[:3], first[3:7] - [np.sin(base[2] / 2), 0.0, 0.0, np.cos(base[2] / 2)]]
        out += [first[13:15] - (base[:2] - base[2]), last[7:10] - case.moment]
        out += [[last[12] - tangent @ case.moment / case.twist[2]]]
        for k in range(n):
            end = yb[size * k : size * (k + 1)]
            if k < n - 1:
                start = ya[size * (k + 1) : size * (k + 2)]
                out += [(end - start)[:10], [end[12] - start[12]]]
            for i in range(2):  # twist and angle of the outer tubes: to their end, and nothing beyond
                stays = k < n - 1 and there[k + 1, i]
                out += [[end[10 + i] - (start[10 + i] if stays else 0.0)]]
                if k < n - 1:
                    out += [[end[13 + i] - start[13 + i] if stays else start[13 + i]]]
        return np.concatenate([np.ravel(part) for part in out])

    # a tube that has ended keeps a twist of zero: its rates are zero, and its end says so
    x = np.linspace(0.0, 1.0, 5)
    y = np.zeros((size * n, len(x)))
    before = np.array([0.0, 0.0, 0.0, 1.0])
    for k in range(n):
        g = guess.robot.poses(guess.q, "tubes", s=np.clip((a[k] + x * length[k]) / ends[-1], 0.0, 1.0))
        h = Rotation.from_matrix(g[:, :3, :3]).as_quat()
        for i in range(len(h)):  # of the two quaternions the one that goes on from the one before
            h[i] *= np.sign(h[i] @ before) or 1.0
            before = h[i]
        y[size * k : size * k + 3], y[size * k + 3 : size * k + 7] = g[:, :3, 3].T, h.T
    at = dict(zip(guess.robot.coordinate_names, guess.q, strict=True))
    twist = [at.get(f"tubes.{name}.transmission", 0.0) for name in NAMES]
    turned = case.rotation + twist
    for k in range(n):
        middle = [at.get(f"tubes.{k + 1}{part}torsion[0]", 0.0) for part in (".outer.", ".middle.", ".")]
        along = turned[:, None] + np.outer(middle, x)
        y[size * k + 10 : size * k + 13] = np.array(middle)[:, None] / length[k]
        y[size * k + 13 : size * k + 15] = np.where(there[k][:2, None], along[:2] - along[2], 0.0)
        turned = along[:, -1]
    out = solve_bvp(rates, conditions, x, y, tol=1e-6, max_nodes=4000)
    assert out.success, out.message
    return out.y[-size : -size + 3, -1]


@pytest.mark.parametrize("seed", range(3))
def test_loaded_tubes_are_where_the_boundary_value_problem_says(seed: int) -> None:
    case = random_case(np.random.default_rng(seed))
    found = so.statics(case.robot(), driven=case.driven)
    assert_allclose(found.tip(), boundary_value_problem(case, found), atol=1e-5 * case.insertion[-1])


def curved_case(rng: np.random.Generator) -> Case:
    """Helices, whose curvature changes along them."""
    case = random_case(rng)
    return case._replace(
        at_tip=case.curvature * rng.uniform(0.3, 1.3, (3, 1)), torsion=rng.uniform(-25.0, 25.0, 3), sections=3
    )


def inserted(case: Case, rng: np.random.Generator) -> tuple[dict[str, float], Case]:
    """Insertions beyond those of the file, by names, that leave the order of ends; the case with these."""
    starts = case.insertion - case.curved
    marks = np.unique(np.concatenate([[0.0], case.insertion, starts]))
    moved = rng.uniform(-0.45, 0.45, 3) * np.diff(marks).min()
    driven = {f"tubes.{name}.insertion": e for name, e in zip(NAMES, moved, strict=True)}
    return driven, case._replace(insertion=case.insertion + moved, behind=case.behind - moved)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed > 0 else []) for seed in range(20)]
)
def test_inserted_helices_are_where_the_boundary_value_problem_says(seed: int) -> None:
    """Under gravity and at insertions that are not those of the file."""
    rng = np.random.default_rng(1000 + seed)
    case = curved_case(rng)
    case = case._replace(behind=case.behind + 0.05)
    driven, moved = inserted(case, rng)
    found = so.statics(case.robot(), driven=case.driven | driven)
    assert_allclose(found.tip(), boundary_value_problem(moved, found), atol=1e-5 * case.insertion[-1])


@pytest.mark.slow
def test_a_hundred_loaded_tubes_are_where_the_boundary_value_problem_says() -> None:
    errors = []
    for seed in range(100, 200):
        case = random_case(np.random.default_rng(seed))
        found = so.statics(case.robot(), driven=case.driven)
        errors.append(np.linalg.norm(found.tip() - boundary_value_problem(case, found)) / case.insertion[-1])
    assert max(errors) < 1e-5


# -- without loads -----------------------------------------------------------------------------------------------------


def opposed_tubes() -> tuple[str, float]:
    """A file of two tubes that are curved all along, without transmission; and lambda/curvature^2."""
    text = """
sorosim: 1
name: opposed
gravity: [0, 0, 0]
parameters: {k: 4 1/m}
materials:
  nitinol: {young: 50 GPa, shear: 19 GPa, density: 6450 kg/m^3}
links:
  tubes:
    tubes:
      outer:
        {length: 20 cm, radius: 1.2 mm, inner_radius: 1 mm, material: nitinol, curves: [{length: 20 cm, bending_y: $k}]}
      inner:
        length: 20 cm
        radius: 0.9 mm
        inner_radius: 0.7 mm
        material: nitinol
        curves: [{length: 20 cm, bending_y: $k}]
"""
    moments = np.array([r**4 - hole**4 for r, hole in ((1.2e-3, 1e-3), (0.9e-3, 0.7e-3))])
    bending, twist = 50e9 * 0.25 * np.pi * moments, 19e9 * 0.5 * np.pi * moments
    return text, float(bending.prod() / bending.sum() * np.sum(1.0 / twist))


def test_opposed_tubes_bifurcate_where_theory_says(tmp_path) -> None:
    """theta'' = lambda sin(theta): at a relative angle of pi straight tubes snap where sqrt(lambda) L = pi/2."""
    text, factor = opposed_tubes()
    (tmp_path / "opposed.yaml").write_text(text)
    critical = 0.5 * np.pi / (0.2 * np.sqrt(factor))
    found = so.continuation(
        so.load(tmp_path / "opposed.yaml"), "parameters.k", to=1.2 * critical, begin=0.7 * critical,
        driven={"tubes.inner.rotation": np.pi},
    )  # fmt: skip
    (point,) = found.points
    assert_allclose(point.parameter, critical, rtol=1e-3)
    assert found.stable[0]
    assert not found.stable[-1]


@pytest.mark.parametrize("times", [0.8, 1.25])
def test_relative_angle_at_the_tip_is_that_of_the_pendulum_equation(times: float, tmp_path) -> None:
    """Quadrature: from the angle t at the tip, theta' = -sqrt(2 lambda (cos t - cos theta)) back to the base."""
    text, factor = opposed_tubes()
    curvature = times * 0.5 * np.pi / (0.2 * np.sqrt(factor))
    (tmp_path / "opposed.yaml").write_text(text.replace("4 1/m", f"{curvature} 1/m"))
    rotation = 2.0
    found = so.statics(so.load(tmp_path / "opposed.yaml"), driven={"tubes.inner.rotation": rotation})
    at = dict(zip(found.robot.coordinate_names, found.q, strict=True))
    turned = rotation + at["tubes.1.torsion[0]"] - at["tubes.1.outer.torsion[0]"]

    def at_base(tip: float) -> float:
        lam = factor * curvature**2
        back = solve_ivp(lambda _, y: [y[1], lam * np.sin(y[0])], (0.0, 0.2), [tip, 0.0], rtol=1e-10, atol=1e-12)
        return float(back.y[0, -1] - rotation)

    tip = brentq(at_base, max(turned - 0.05, 1e-6), turned + 0.05)
    # one section, in which twists are of second degree: five times the largest error seen
    assert_allclose(turned, tip, atol=1.3e-2)


def is_minimum(case: Case, ends: np.ndarray) -> bool:
    """Whether no conjugate point lies between the tip and where the tubes are held (Gilbert, Hendrick, Webster, 2016).

    ends (3,): angles of the tubes at their ends. From there the equations and their variation run back to the plate:
    GJ psi'' = dV/dpsi with V = -|sum B kappa exp(i psi)|^2/(2 sum B). The determinant of the variation must not vanish.
    """
    starts = case.insertion - case.curved
    places = np.unique(np.round(np.concatenate([[0.0], case.insertion, starts[starts > 0.0]]), 14))[::-1]
    kappa = case.curvature @ np.array([1.0, 1.0j])

    def back(tips: np.ndarray) -> tuple[np.ndarray, list[float]]:
        psi, rate, H, Hd = tips.copy(), np.zeros(3), np.eye(3), np.zeros((3, 3))
        signs = []
        for b, a in pairwise(places):
            middle = 0.5 * (a + b)
            there = case.insertion > middle
            B = np.where(there, case.bending, 0.0)
            strength = B * kappa * (starts < middle)

            def slope(
                _: float, y: np.ndarray, B: np.ndarray = B, there: np.ndarray = there, strength: np.ndarray = strength
            ) -> np.ndarray:
                psi, rate, H, Hd = y[:3], y[3:6], y[6:15].reshape(3, 3), y[15:].reshape(3, 3)
                e = strength * np.exp(1j * psi)
                total = e.sum()
                force = np.imag(np.conj(total) * e) / B.sum()  # dV/dpsi
                hessian = (np.diag(np.real(np.conj(total) * e)) - np.real(np.outer(np.conj(e), e))) / B.sum()
                active = np.where(there, 1.0, 0.0)
                second = active[:, None] * (hessian @ H) / case.twist[:, None]
                # backward in s
                return np.concatenate([-rate * active, -active * force / case.twist, -(active[:, None] * Hd).ravel(),
                                       -second.ravel()])  # fmt: skip

            y0 = np.concatenate([psi, rate, H.ravel(), Hd.ravel()])
            out = solve_ivp(slope, (0.0, b - a), y0, rtol=1e-9, atol=1e-11, dense_output=True, max_step=(b - a) / 10)
            for x in np.linspace(0.0, b - a, 20):
                signs.append(float(np.linalg.det(out.sol(x)[6:15].reshape(3, 3))))
            y = out.y[:, -1]
            psi, rate, H, Hd = y[:3], y[3:6], y[6:15].reshape(3, 3), y[15:].reshape(3, 3)
        for x in np.linspace(0.0, 1.0, 20):
            signs.append(float(np.linalg.det(H - x * case.behind[:, None] * Hd)))
        return psi - case.behind * rate - case.rotation, signs

    tips = fsolve(lambda x: back(x)[0], ends, xtol=1e-8)
    assert_allclose(tips, ends, atol=3e-4)  # the same equilibrium
    return bool(np.all(np.array(back(tips)[1]) > 0.0))


STABLE = (True, False, True, True, True, False, False, True, True, False)  # of the cases by seed


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[pytest.mark.slow] if seed > 1 else []) for seed in range(len(STABLE))]
)
def test_stability_is_that_of_the_conjugate_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = random_case(rng)
    none, curvature = np.zeros(3), rng.uniform(2.0, 3.5) * case.curvature
    case = case._replace(
        force=none, moment=none, gravity=none, curvature=curvature, rotation=case.rotation + np.array([0.0, 2.0, 4.0])
    )
    found = so.statics(case.robot(), driven=case.driven, stable=False)
    at = dict(zip(found.robot.coordinate_names, found.q, strict=True))
    ends = case.rotation.copy()
    for i, name in enumerate(NAMES):
        ends[i] += at.get(f"tubes.{name}.transmission", 0.0)
        own = ".torsion[0]" if name == "inner" else f".{name}.torsion[0]"
        ends[i] += sum(at.get(f"tubes.{k}{own}", 0.0) for k in range(1, 7))
    assert found.stable == STABLE[seed] == is_minimum(case, ends)
