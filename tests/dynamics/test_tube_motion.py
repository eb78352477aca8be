"""Concentric tubes in motion (docs/theory.md, 20)."""

from typing import Any

import numpy as np
import pytest
from helpers.differences import relative_error, slope
from numpy.polynomial import legendre
from numpy.testing import assert_allclose

import sorosim as so
from benchmarks.algorithms import forward_dynamics

# thick and soft, so that what turns about its axis has as much momentum as what moves across it
MATERIALS = {
    "rubber": {"young": "1 MPa", "poisson": 0.45, "density": 1000},
    "lossy": {"young": "2 MPa", "poisson": 0.4, "density": 1500, "damping": "300 Pa*s", "stiffness_damping": "1 ms"},
}


def tube(length: float, radius: float, hole: float, insertion: float, *curves: dict, **more: Any) -> dict[str, Any]:
    """A tube of rubber, with lengths in m."""
    given = {"length": length, "radius": radius, "inner_radius": hole, "insertion": insertion, "curves": list(curves)}
    return given | {"material": "rubber"} | more


def robot_of(links: dict[str, Any], **more: Any) -> so.Robot:
    """A robot with these links, without gravity."""
    return so.load({"sorosim": 1, "gravity": [0, 0, 0], "materials": MATERIALS, "links": links, **more})


def two_tubes(**more: Any) -> dict[str, Any]:
    """A link with two curved tubes of different ends."""
    outer = tube(0.2, 0.02, 0.015, 0.12, {"length": 0.06, "bending_y": 4}, **more)
    inner = tube(0.25, 0.014, 0.01, 0.18, {"length": 0.1, "bending_y": 6}, {"length": 0.03, "bending_z": 3}, **more)
    return {"tubes": {"outer": outer, "inner": inner}}


def chain() -> so.Robot:
    """A hinge, a ball that carries three tubes, a hinge at their tip; with weight, damping and a load."""
    three = {
        "outer": tube(0.2, 0.03, 0.022, 0.13, {"length": 0.06, "bending_y": 4}, material="lossy"),
        "middle": tube(0.2, 0.021, 0.015, 0.16, {"length": 0.05, "bending_y": 3, "bending_z": 2}),
        "inner": tube(0.25, 0.014, 0.009, 0.2, {"length": 0.08, "bending_y": 5}, material="lossy"),
    }
    small = {"mass": "20 g", "inertia": [1e-5, 2e-5, 2e-5]}
    links = {
        "base": {"joint": {"revolute": {"axis": [0, 1, 0.3]}}, "body": {"mass": 0.2, "inertia": [1e-3, 1e-3, 1e-3]}},
        "tubes": {"parent": "base", "at": {"position": [0.05, 0.01, 0]}, "joint": "spherical", "tubes": three},
        "tip": {"parent": "tubes", "joint": {"revolute": {"axis": [0, 0, 1], "stiffness": 0.2}}, "body": small},
    }
    loads = {"pull": {"wrench": {"link": "tip", "force": [0.3, 0.1, 0.2]}}}
    return robot_of(links, loads=loads, gravity=[0, 0, -9.81])


def random_state(robot: so.Robot, rng: np.random.Generator) -> list[np.ndarray]:
    """Coordinates, rates and accelerations, insertions at rest."""
    out = [scale * rng.normal(size=robot.ndof) * 0.3 for scale in (1.0, 3.0, 10.0)]
    for part in out:
        part[robot.engine.insertions] = 0.0
    return out


def free(robot: so.Robot) -> np.ndarray:
    """Coordinates that are no insertions."""
    return np.setdiff1d(np.arange(robot.ndof), robot.engine.insertions)


@pytest.mark.parametrize("moving", [(0, 0), (1, 0), (0, 1), (1, 1)], ids=["rest", "rates", "accelerations", "all"])
def test_derivatives_agree_with_differences(moving, rng):
    robot = chain()
    q, qd, qdd = random_state(robot, rng)
    state, own = [q, moving[0] * qd, moving[1] * qdd], free(robot)
    inverse = robot.inverse_dynamics_derivatives(*state[:2], qdd=state[2])
    internal = robot.internal_force_derivatives(*state[:2])

    def moved(k: int, j: int, x: float) -> list[np.ndarray]:
        out = [part.copy() for part in state]
        out[k][j] += x
        return out

    def inverse_at(k: int, j: int, x: float) -> np.ndarray:
        q, qd, qdd = moved(k, j, x)
        return robot.inverse_dynamics(q, qd, qdd=qdd)

    def internal_at(k: int, j: int, x: float) -> np.ndarray:
        return robot.internal_force(*moved(k, j, x)[:2])

    for function, matrices in ((inverse_at, inverse[1:]), (internal_at, internal[1:3])):
        for k, matrix in enumerate(matrices):
            columns = [slope(lambda x, k=k, j=j, f=function: f(k, j, x), 1e-3) for j in own]
            assert relative_error(np.stack(columns, axis=1), matrix[:, own]) < 1e-9


def test_the_mass_matrix_is_that_of_the_kinetic_energy_and_of_inverse_dynamics(rng):
    robot = chain()
    q, qd, qdd = random_state(robot, rng)
    M = robot.mass_matrix(q)
    assert_allclose(robot.energy(q, qd).kinetic, 0.5 * qd @ M @ qd, rtol=1e-13)
    own = free(robot)  # what holds insertions is known at rest only
    by_qdd = robot.inverse_dynamics(q, 0 * q, qdd=qdd) - robot.inverse_dynamics(q, 0 * q, qdd=0 * q)
    assert_allclose((M @ qdd)[own], by_qdd[own], rtol=0.0, atol=1e-12 * np.abs(M @ qdd).max())
    turned = {"tubes.outer.rotation": 3.0, "tubes.middle.rotation": -2.0, "tubes.inner.rotation": 1.0}
    unlike = forward_dynamics(robot, q, qd, driven_qdd=turned, algorithm="unit")
    found = robot.forward_dynamics(q, qd, driven_qdd=turned)
    assert_allclose(found, unlike, rtol=0.0, atol=1e-9 * np.abs(unlike).max())
    with pytest.raises(so.InputError, match="'articulated' for a robot with concentric tubes"):
        robot.forward_dynamics(q, qd, algorithm="articulated")
    with pytest.raises(
        so.ModelError, match="a coordinate that moves mass"
    ):  # all rotations against the ball: nothing moves
        robot.forward_dynamics(q, qd, driven_qdd={})


# -- Lagrange's equation of all tubes, each a chain of discs of its own ------------------------------------------------


def turned(R: np.ndarray, angle: float) -> np.ndarray:
    """R turned by an angle about its own x."""
    c, s = np.cos(angle), np.sin(angle)
    return R @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def discs(robot: so.Robot, link: str, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
    """Poses of pieces of all tubes, their rotational inertia (3,) and mass, by twists and insertions alone."""
    body, value = robot.engine.layout.links[link].link.body, dict(zip(robot.coordinate_names, q, strict=True))
    names, out, length = list(body.names), [], body.length
    angle = {name: value[f"{link}.{name}.rotation"] + value.get(f"{link}.{name}.transmission", 0.0) for name in names}
    base = turned(robot.pose(q, link, s=0.0)[:3, :3], -angle[names[-1]])
    for name, one in body.tubes.items():
        for x, w in zip(*np.polynomial.legendre.leggauss(4), strict=True) if one.behind else ():
            turn = value[f"{link}.{name}.rotation"] + 0.5 * (x + 1.0) * value[f"{link}.{name}.transmission"]
            spin = 2.0 * one.material.density * one.moment * one.behind * 0.5 * w
            out.append((turned(base, turn), np.zeros(3), np.array([spin, 0.0, 0.0]), 0.0))
    for k, (start, section) in enumerate(zip(body.starts, body.divisions, strict=True)):
        there = names[len(names) - len(section.tubes) :]
        own = {name: f"{link}.{k + 1}." + ("" if name == names[-1] else f"{name}.") for name in there}
        twists = {name: [value[f"{prefix}torsion[{j}]"] for j in range(3)] for name, prefix in own.items()}
        for x, w in zip(*np.polynomial.legendre.leggauss(3), strict=True):
            g = robot.pose(q, link, s=(start + 0.5 * (x + 1.0) * section.length) / length)
            so_far = {name: angle[name] + 0.5 * legendre.legval(x, legendre.legint(twists[name], lbnd=-1.0))
                      for name in there}  # fmt: skip
            for name, one in zip(there, section.tubes, strict=True):
                line = one.material.density * section.length * 0.5 * w
                inertia = line * one.moment * np.array([2.0, 1.0, 1.0])
                R = turned(g[:3, :3], so_far[name] - so_far[names[-1]])
                out.append((R, g[:3, 3], inertia, line * one.area))
        for name in there:
            angle[name] += twists[name][0]
    return out


def kinetic_energy(robot: so.Robot, link: str, q: np.ndarray, qd: np.ndarray) -> float:
    """That of all discs, whose rates are differences of their poses along the motion."""
    now, h, total = discs(robot, link, q), 1e-2, 0.0

    def poses(x: float) -> np.ndarray:
        return np.array([np.vstack([R, p]) for R, p, _, _ in discs(robot, link, q + x * qd)])

    rates = slope(poses, h, 8)
    for (R, _, inertia, mass), rate in zip(now, rates, strict=True):
        W = R.T @ rate[:3]
        w = np.array([W[2, 1], W[0, 2], W[1, 0]])
        total += 0.5 * (inertia @ w**2 + mass * rate[3] @ rate[3])
    return total


def test_inverse_dynamics_is_lagrange_s_equation_of_the_tubes(rng):
    robot = robot_of({"plate": {"joint": {"revolute": {"axis": [1, 0, 0.5]}}, **two_tubes()}})
    q, qd, qdd = (0.3 * part for part in random_state(robot, rng))
    assert_allclose(kinetic_energy(robot, "plate", q, qd), robot.energy(q, qd).kinetic, rtol=1e-10)
    # the hinge, transmission of the outer tube, rotation of the inner one, bending and twist of a section
    some, h, unit = [0, 3, 4, 10, 16], 1e-2, np.eye(robot.ndof)
    force = []
    for i in some:

        def momentum(t: float, i: int = i) -> float:  # the energy is quadratic in the rates
            now, rates = q + t * qd + 0.5 * t * t * qdd, qd + t * qdd
            a, b = (kinetic_energy(robot, "plate", now, rates + x * unit[i]) for x in (1.0, -1.0))
            return 0.5 * (a - b)

        by_place = slope(lambda x, i=i: kinetic_energy(robot, "plate", q + x * unit[i], qd), h, 4)
        force.append(slope(momentum, h, 4) - by_place)
    tau = robot.inverse_dynamics(q, qd, qdd=qdd)[some]
    assert np.abs(tau).min() > 1e-3 * np.abs(tau).max()
    assert_allclose(tau, force, rtol=0.0, atol=1e-6 * np.abs(tau).max())


# -- motions -----------------------------------------------------------------------------------------------------------


def test_a_twisted_tube_moves_as_a_torsion_bar_and_as_the_rod_that_it_is():
    """The outer tube of two straight ones, held at the plate: cos(sqrt(G/rho) pi t/(2 L)) for a quarter of a wave."""
    length, start = 0.2, np.array([0.3, 0.1, -0.05])
    both = {"outer": tube(length, 0.02, 0.015, length), "inner": tube(length, 0.014, 0.01, length)}
    section = {"hollow_circle": {"radius": 0.02, "inner_radius": 0.015}}
    rod = {"length": length, "section": section, "material": "rubber", "strain": {"torsion": 2}, "quadrature": 3}
    options = {"t_end": 0.05, "method": "newmark", "step": 1e-4, "dt_out": 1e-3}
    names = [f"torsion[{j}]" for j in range(3)]
    tubes = robot_of({"r": {"tubes": both}})
    turning = so.simulate(tubes, q0={f"r.1.outer.{name}": x for name, x in zip(names, start, strict=True)}, **options)
    alone = so.simulate(robot_of({"r": {"rod": rod}}), q0=start, **options)
    own = [tubes.coordinate_names.index(f"r.1.outer.{name}") for name in names]
    assert_allclose(turning.q[:, own], alone.q, rtol=0.0, atol=1e-9 * np.abs(alone.q).max())
    assert np.abs(np.delete(turning.q, own, axis=1)).max() < 1e-13
    young, poisson, density = 1e6, 0.45, 1000.0
    exact = np.sqrt(young / (2.0 * (1.0 + poisson)) / density) / (4.0 * length)
    assert np.abs(so.statics(tubes).linearize().frequencies - exact).min() < 2e-4 * exact


def test_frequencies_are_those_of_forward_dynamics():
    robot = robot_of({"r": two_tubes()})
    eq = so.statics(robot, driven={"r.inner.rotation": 1.0})
    M = robot.forward_dynamics_derivatives(eq.q, 0 * eq.q)
    moving = [i for i, name in enumerate(robot.coordinate_names) if "rotation" not in name and "insertion" not in name]
    squares = np.sort(-np.linalg.eigvals(M.dqdd_dq[np.ix_(moving, moving)]).real)
    assert_allclose(np.sort(eq.linearize().frequencies)[:8], np.sqrt(squares[:8]) / (2.0 * np.pi), rtol=1e-6)


def swing(t_end: float = 0.2, material: str = "rubber", **options: Any) -> so.Run:
    """Two tubes of which the inner one is turned to and fro under weight."""
    robot = robot_of({"r": two_tubes(material=material)}, gravity=[0, 0, -9.81])
    return so.simulate(robot, t_end, q0="equilibrium", driven={"r.inner.rotation": "sin(20*t)^2"}, **options)


@pytest.mark.parametrize("material", ["rubber", "lossy"])
def test_energy_is_balanced_and_falls_with_damping(material):
    run = swing(material=material, method="newmark", step=1e-3)
    energy = run.energy()
    assert np.abs(energy.balance).max() < 2e-4 * energy.turnover
    assert (np.diff(energy.dissipated).min() > 0.0) == (material == "lossy")


def test_what_turns_in_a_bent_tube_is_damped(rng):
    """Power of damping: of curvatures in the axes of each tube, by differences."""
    robot = robot_of({"r": two_tubes(material="lossy")})
    q, qd, _ = random_state(robot, rng)
    body, names = robot.engine.layout.links["r"].link.body, robot.coordinate_names

    def of(prefix: str, x: np.ndarray) -> np.ndarray:
        return np.array([x[names.index(f"{prefix}[{j}]")] for j in range(3)])

    def shapes(x: float) -> list[tuple[float, np.ndarray]]:  # weight, twist and curvature in the axes of a tube
        now, out = q + x * qd, []
        angle = {n: now[names.index(f"r.{n}.rotation")] + now[names.index(f"r.{n}.transmission")] for n in body.names}
        for one, n in zip(body.members, body.names, strict=True):
            out.append((one.twist_damping / one.behind, now[[names.index(f"r.{n}.transmission")]]))
        for k, section in enumerate(body.divisions, 1):
            there = body.names[-len(section.tubes) :]
            twist = {n: of(f"r.{k}.{'' if n == 'inner' else n + '.'}torsion", now) for n in there}
            for s, w in zip(*legendre.leggauss(12), strict=True):
                u = np.array([legendre.legval(s, of(f"r.{k}.bending_{axis}", now)) for axis in "yz"])
                turn = {n: angle[n] + 0.5 * legendre.legval(s, legendre.legint(twist[n], lbnd=-1.0)) for n in there}
                for one, n in zip(section.tubes, there, strict=True):
                    a, half = turn[n] - turn["inner"], 0.5 * w / section.length
                    c, d = np.cos(a), np.sin(a)
                    out.append((half * one.bending_damping, np.array([c * u[0] + d * u[1], c * u[1] - d * u[0]])))
                    out.append((half * one.twist_damping, np.array([legendre.legval(s, twist[n])])))
            for n in there:
                angle[n] += twist[n][0]
        return out

    weights = np.concatenate([np.full(len(shape), weight) for weight, shape in shapes(0.0)])
    rates = slope(lambda x: np.concatenate([shape for _, shape in shapes(x)]), 1e-2, 8)
    power = weights @ rates**2
    lost = (robot.internal_force(q, 0 * q) - robot.internal_force(q, qd)) @ qd
    assert_allclose(lost, power, rtol=1e-4)  # five points to a section, there


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha"])
def test_steps_are_of_second_order(method):
    robot = robot_of({"r": two_tubes(material="lossy")}, gravity=[0, 0, -9.81])
    options = {"method": method, "q0": "equilibrium", "driven": {"r.inner.rotation": "2*smoothstep(t/0.2)"}}
    options |= {"rtol": 1e-10, "atol": 1e-12}
    a, b, c = (so.simulate(robot, 0.1, step=h, **options).q[-1] for h in (2e-3, 1e-3, 5e-4))
    assert 3.5 < np.abs(a - b).max() / np.abs(b - c).max() < 4.5


def test_insertions_that_stay_are_those_of_a_file():
    robot = robot_of({"r": two_tubes(material="lossy")}, gravity=[0, 0, -9.81])
    runs, frequencies = [], []
    for one, more in ((robot, {"r.inner.insertion": "5 mm"}),
                      (robot.with_values({"links.r.tubes.inner.insertion": "185 mm"}), {})):  # fmt: skip
        eq = so.statics(one, driven={"r.inner.rotation": 1.0, **more})
        frequencies.append(eq.linearize().frequencies)
        turn = {"r.outer.rotation": "sin(30*t)^2"}
        runs.append(so.simulate(one, 0.03, q0=eq, driven=turn, method="newmark", step=1e-3))
    assert_allclose(frequencies[0], frequencies[1], rtol=1e-8)
    assert_allclose(runs[0].tip(), runs[1].tip(), rtol=0.0, atol=1e-14)
    for name in ("kinetic", "dissipated", "balance"):
        a, b = (getattr(run.energy(), name) for run in runs)
        assert_allclose(a, b, rtol=0.0, atol=1e-10 * runs[0].energy().turnover)


def test_a_turn_past_the_fold_snaps_to_the_other_branch():
    """Two tubes curved alike: by continuation the inner one jumps at 259.7 degrees."""
    nitinol = {"young": "50 GPa", "poisson": 0.3, "density": 6450, "damping": "20 MPa*s"}
    links = {"r": {"tubes": {
        "outer": tube(0.2, 1.2e-3, 1e-3, 0.12, {"length": 0.08, "bending_y": 13}, material="nitinol"),
        "inner": tube(0.3, 0.9e-3, 0.7e-3, 0.18, {"length": 0.13, "bending_y": 13}, material="nitinol"),
    }}}  # fmt: skip
    robot = so.load({"sorosim": 1, "gravity": [0, 0, 0], "materials": {"nitinol": nitinol}, "links": links})
    curve = so.continuation(robot, "driven.r.inner.rotation", to="360 deg", begin=0.0)
    assert max(point.parameter for point in curve.points) < np.radians(265.0)
    before = so.follow(robot, so.statics(robot), driven={"r.inner.rotation": "255 deg"})[-1]
    turn = {"r.inner.rotation": "255 deg + 10 deg*smoothstep(t/0.1)"}
    run = so.simulate(robot, 0.6, q0=before, driven=turn, method="generalized-alpha")
    (after,) = curve.at(np.radians(265.0))
    tip = run.tip()
    assert np.linalg.norm(tip[-1] - tip[0]) > 0.1
    assert_allclose(tip[-1], after.tip(), rtol=0.0, atol=1e-6)


# -- what it is not for, and what is asked for in other words ----------------------------------------------------------


def test_insertions_that_move_are_one_error():
    robot = robot_of({"r": two_tubes()})
    zero, moving = np.zeros(robot.ndof), np.eye(robot.ndof)[robot.engine.insertions[0]]
    with pytest.raises(so.InputError, match=r"driven\.r\.inner\.insertion: expected an insertion that stays"):
        so.simulate(robot, 0.1, q0="equilibrium", driven={"r.inner.insertion": "1 mm*sin(t)"})
    with pytest.raises(so.ModelError, match="at most its length"):
        so.simulate(robot, 0.1, driven={"r.inner.insertion": "10 cm"})
    for qd, qdd in ((moving, zero), (zero, moving)):
        with pytest.raises(so.ModelError, match=r"r\.outer\.insertion: expected an insertion that stays, in motion"):
            robot.inverse_dynamics(zero, qd, qdd=qdd)
    with pytest.raises(so.ModelError, match="an insertion that stays, in motion"):
        robot.energy(zero, moving)
    with pytest.raises(so.ModelError, match="an insertion that stays, in motion"):
        robot.hybrid_dynamics(zero, zero, qdd=zero, tau=zero, known=[])
    stepper = so.Stepper(robot, "1 ms", driven={"r.inner.insertion": 0.0})
    stepper.reset(q=so.statics(robot).q)
    with pytest.raises(so.InputError, match="insertions stay, in motion"):
        stepper.step([], {"r.inner.insertion": 0.01})


def test_tubes_that_nobody_turns_stay_as_they_are():
    robot = robot_of({"r": two_tubes()})
    eq = so.statics(robot, driven={"r.inner.rotation": 1.0})
    run = so.simulate(robot, 0.02, q0=eq, step=1e-3)
    assert run.options["method"] == "generalized-alpha"
    assert np.isnan(run.driven["r.inner.insertion"]).all()
    assert_allclose(run.driven["r.inner.rotation"], eq.driven["r.inner.rotation"], rtol=1e-6)
    assert_allclose(run.q, np.tile(eq.q, (len(run.t), 1)), rtol=0.0, atol=1e-9)
