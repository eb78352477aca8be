"""Assembly of closed chains, their statics, and what is said of those that cannot be closed."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.differences import jacobian
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import sorosim
from benchmarks.closings import BASES, MORE, closing
from sorosim.analysis.equations.system import elastic_weight
from sorosim.analysis.equilibria.assembly import CLOSED, _Closing, close_if_possible, open_loops
from sorosim.base.errors import ConvergenceError, InputError, ModelError
from sorosim.mechanics.constraints.loop import Anchor, Loop
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor import examine

BODY = RigidBody(1.0, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))


def at(x=0.0, y=0.0, z=0.0):
    g = np.eye(4)
    g[:3, 3] = x, y, z
    return g


def linkage(end=(1.2, 0.3), joint="revolute", **more):
    """Three links of a metre in a plane, their end pinned to the ground."""
    links = [Link("a", BODY, joint=Joint("revolute"))]
    links += [Link(name, BODY, joint=Joint("revolute"), parent=on, at=at(1.0)) for name, on in (("b", "a"), ("c", "b"))]
    loops = {"close": Loop(Joint(joint), Anchor("c", at=at(1.0)), Anchor(at=at(*end)))}
    return Robot(Description("linkage", tuple(links), gravity=(0, -9.81, 0), loops=loops, **more))


ROUGH = np.array([0.9, -1.0, -0.9])


def test_assembly_finds_the_nearest_closed_state():
    """Normal to the closed states, in the metric of the mass matrix at the start; and no other nearby is nearer."""
    robot = linkage()
    found = sorosim.assemble(robot, ROUGH)
    assert max(max(gap) for gap in robot.loop_gaps(found.q).values()) < 1e-14
    A, M = robot.loop_rows(found.q).A, robot.mass_matrix(ROUGH)
    along = np.linalg.svd(A)[2][-1]  # the one free direction
    step = found.q - ROUGH
    assert abs(along @ M @ step) < 1e-6 * np.linalg.norm(M @ step)
    assert_allclose(found.moved, np.sqrt(step @ M @ step), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1e2])
def test_assembly_knows_no_size(scale):
    """Linkages of all sizes close alike, and no joint turns right round on the way."""
    small = RigidBody(scale**3, centre=(0.5 * scale, 0, 0), inertia=np.array((0.01, 0.1, 0.1)) * scale**5)
    links = [Link("a", small, joint=Joint("revolute"))]
    links += [Link(k, small, joint=Joint("revolute"), parent=on, at=at(scale)) for k, on in (("b", "a"), ("c", "b"))]
    loops = {"close": Loop(Joint("revolute"), Anchor("c", at=at(scale)), Anchor(at=at(1.2 * scale, 0.3 * scale)))}
    robot = Robot(Description("linkage", tuple(links), gravity=(0, -9.81, 0), loops=loops))
    for start in np.random.default_rng(1).uniform(-1.2, 1.2, (20, 3)):
        found = sorosim.assemble(robot, start)
        assert max(found_gap[0] for found_gap in robot.loop_gaps(found.q).values()) < 1e-9 * scale
        assert np.abs(found.q - start).max() < 2.0 * np.pi
    with pytest.raises(InputError, match="open"):
        sorosim.simulate(robot, 0.1, q0=found.q + np.array([1e-5, 0.0, 0.0]))


def test_named_rates_are_kept():
    robot = linkage()
    q = sorosim.assemble(robot, ROUGH).q
    initial = dict(zip(robot.coordinate_names, map(float, q), strict=True))
    turning = Robot(replace(robot.description, initial=initial, initial_rates={"a.revolute": 3.0}))
    run = sorosim.simulate(turning, 0.05)
    assert run.qd[0, 0] == 3.0
    assert np.abs(robot.loop_rows(run.q[0], run.qd[0]).rate).max() < 1e-12
    conflicting = Robot(replace(turning.description, initial_rates=dict.fromkeys(robot.coordinate_names, 3.0)))
    with pytest.raises(ConvergenceError, match=r"tear loop 'close' open.*`initial` block"):
        sorosim.simulate(conflicting, 0.05)


def test_rates_are_the_nearest_ones_too():
    robot = linkage()
    q = sorosim.assemble(robot, ROUGH).q
    wanted = np.array([1.0, 0.2, -0.3])
    found = sorosim.assemble(robot, q, qd0=wanted)
    rows, M = robot.loop_rows(found.q, found.qd), robot.mass_matrix(found.q)
    assert_allclose(rows.rate, 0.0, atol=1e-14)
    # what was taken away is normal to all rates that are possible
    along = np.linalg.svd(rows.A)[2][-1]
    assert abs(along @ M @ (found.qd - wanted)) < 1e-12


def test_held_and_driven_coordinates_stay():
    robot = linkage()
    found = sorosim.assemble(robot, ROUGH, qd0=[1.0, 0, 0], fixed=["a"])
    assert found.q[0] == 0.9
    assert found.qd[0] == 1.0
    found = sorosim.assemble(robot, ROUGH, driven={"a": 0.7})
    assert found.q[0] == 0.7
    assert not any(max(gap) > 1e-12 for gap in robot.loop_gaps(found.q).values())


def test_what_cannot_be_closed_is_said():
    with pytest.raises(ConvergenceError, match=r"'linkage' cannot be closed: 'close' by 3\.21 m and 0 rad") as caught:
        sorosim.assemble(linkage((6.2, 0.3)), ROUGH)
    assert caught.value.partial.shape == (3,)
    with pytest.raises(ConvergenceError, match="tear loop 'close' open"):
        sorosim.assemble(linkage(), sorosim.assemble(linkage(), ROUGH).q, qd0=[1.0, 0, 0], fixed=["a", "b", "c"])
    with pytest.raises(InputError, match="fixed"):
        sorosim.assemble(linkage(), ROUGH, fixed="a")


def test_what_digits_of_a_file_leave_open_is_said():
    """A planar linkage whose end is pinned beside its plane."""
    with pytest.raises(ConvergenceError, match=r"'close' by 1e-08 m .*digits of the file.* universal"):
        sorosim.assemble(linkage((1.2, 0.3, 1e-8)), ROUGH)
    with pytest.raises(ConvergenceError, match=r"'close' by 0\.001 m .*look at the frames"):
        sorosim.assemble(linkage((1.2, 0.3, 1e-3)), ROUGH)


def test_a_start_with_open_loops_is_refused():
    robot = linkage()
    with pytest.raises(InputError, match=r"'close' by 1\.06 m and 0 rad open; q0='assembled'"):
        sorosim.simulate(robot, 1.0, q0=ROUGH)
    q = sorosim.assemble(robot, ROUGH).q
    with pytest.raises(InputError, match="rates that tear 'close' open"):
        sorosim.simulate(robot, 1.0, q0=q, qd0=[1.0, 0.0, 0.0])


def test_assembled_starts_hold_what_the_file_names():
    robot = linkage(initial={"a.revolute": 0.9, "b.revolute": -0.4}, initial_rates={"a.revolute": 1.0})
    with pytest.raises(ConvergenceError, match=r"cannot be closed.*names, a\.revolute and b\.revolute: name fewer"):
        sorosim.simulate(robot, 0.1, q0="assembled")
    robot = Robot(replace(robot.description, initial={"a.revolute": 0.9}))
    run = sorosim.simulate(robot, 0.1, q0="assembled")
    assert run.q[0, 0] == 0.9
    assert run.qd[0, 0] == 1.0
    assert run.drift["close"][0].max() < 1e-12


def test_equilibria_of_a_linkage():
    """Hanging: the potential energy is least among closed states; and the motor that holds another posture."""
    robot = linkage()
    eq = sorosim.statics(robot, q0=[-0.9, -1.2, 2.0])
    assert eq.residual_norm < 1e-12
    assert eq.stable
    along = np.linalg.svd(robot.loop_rows(eq.q).A)[2][-1]

    def energy(q):
        return robot.energy(q, np.zeros(3)).gravity

    assert abs(jacobian(energy, eq.q, 1e-3, 4) @ along) < 1e-8
    held = sorosim.statics(robot, driven={"a": eq.q[0] + 0.1}, q0=eq.q)
    nudge = 1e-4
    around = [sorosim.statics(robot, driven={"a": eq.q[0] + 0.1 + d}, q0=eq.q).q for d in (nudge, -nudge)]
    # the motor's work is the change of energy
    assert_allclose(held.driven["a"], (energy(around[0]) - energy(around[1])) / (2 * nudge), rtol=1e-6)


@pytest.mark.parametrize("joint", ["revolute", "spherical", "cylindrical"])
def test_redundant_rows_make_no_difference(joint):
    """A planar linkage asks for what it has anyway: the motion is the same, and no force is wasted on it."""
    plain, robot = linkage(), linkage(joint=joint)
    q = sorosim.assemble(plain, ROUGH).q
    rates = sorosim.assemble(plain, q, qd0=[1.0, 0, 0]).qd
    expected = plain.forward_dynamics(q, rates)
    assert_allclose(robot.forward_dynamics(q, rates), expected, rtol=1e-12)
    run = sorosim.simulate(robot, 0.2, q0=q, qd0=rates, method="lsoda", rtol=1e-9, atol=1e-11)
    same = sorosim.simulate(plain, 0.2, q0=q, qd0=rates, method="lsoda", rtol=1e-9, atol=1e-11)
    assert_allclose(run.q, same.q, atol=1e-8)
    wrench = run.loop_wrench("close")
    assert_allclose(wrench, same.loop_wrench("close"), atol=1e-5)
    assert_allclose(wrench[:, [0, 1, 2, 5]], 0.0, atol=1e-9)  # moments, and the force across the plane


def test_conflicting_loops_are_named():
    """The same end pinned to two places."""
    robot = linkage()
    again = Loop(Joint("revolute"), Anchor("c", at=at(1.0)), Anchor(at=at(1.3, 0.3)))
    robot = Robot(replace(robot.description, loops={**robot.description.loops, "other": again}))
    with pytest.raises(ConvergenceError, match=r"cannot be closed: 'close' by .* m and 0 rad, 'other' by"):
        sorosim.assemble(robot, ROUGH)
    with pytest.raises(ConvergenceError):
        sorosim.statics(robot, q0=ROUGH)


def test_redundant_loops_share_what_one_alone_would_carry():
    """The same pin twice: the motion is that of one, and each carries half."""
    plain = linkage()
    twice = Robot(replace(plain.description, loops={
        "close": plain.description.loops["close"], "again": plain.description.loops["close"]
    }))  # fmt: skip
    q = sorosim.assemble(plain, ROUGH).q
    assert_allclose(twice.forward_dynamics(q, 0 * q), plain.forward_dynamics(q, 0 * q), rtol=1e-12)
    near = sorosim.statics(plain, q0=[-0.9, -1.2, 2.0]).q  # there are several equilibria
    one, both = (sorosim.statics(robot, q0=near + 0.05) for robot in (plain, twice))
    assert_allclose(both.q, one.q, atol=1e-9)
    for name in ("close", "again"):
        assert_allclose(both.loop_wrench(name), 0.5 * one.loop_wrench("close"), atol=1e-8)


def test_no_freedom_is_said():
    """All that could move is driven: a loop has nothing left to give."""
    robot = linkage()
    driven = {"a": "0.1*t", "b": "0", "c": "0"}
    with pytest.raises((InputError, ConvergenceError)):
        sorosim.simulate(robot, 1.0, driven=driven)
    doctor = {finding.where: finding for finding in examine(robot)}
    assert "5 conditions of 1 loop, 2 of them independent" in doctor["loops"].what


@pytest.mark.parametrize("method", ["bdf", "ida", "generalized-alpha"])
def test_a_loop_that_is_torn_open_is_named(method):
    """Closed at the start, also by its rates; then two joints are driven that leave it no freedom."""
    robot = linkage()
    q = sorosim.assemble(robot, ROUGH).q
    driven = {"a": f"{q[0]} + 0.5*t^2", "b": f"{q[1]} + 0.5*t^2"}
    with pytest.raises(ConvergenceError, match=r"loop 'close' is open by .* m.*drive") as caught:
        sorosim.simulate(robot, 1.0, q0=q, driven=driven, method=method)
    assert np.isfinite(caught.value.partial.q).all()
    # all are driven so, by motions that nearly fit
    drives = {name: f"{value} + 1e-4*t^2" for name, value in zip("abc", q, strict=True)}
    with pytest.raises((ConvergenceError, InputError), match=r"loop 'close' is open|free to move"):
        sorosim.simulate(robot, 1.0, q0=q, driven=drives, method=method)
    with pytest.raises(ConvergenceError, match=r"statics: the loops of .* cannot be closed: 'close' by"):
        sorosim.statics(robot, driven={"a": q[0] + 1.0, "b": q[1] + 1.0}, q0=q)


def parallelogram():
    crank = RigidBody(1.0, centre=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    links = (
        Link("a", crank, joint=Joint("revolute")),
        Link("b", crank, joint=Joint("revolute"), parent="a", at=at(1.0)),
        Link("c", crank, joint=Joint("revolute"), parent="b", at=at(1.0)),
    )
    loops = {"close": Loop(Joint("revolute"), Anchor("c", at=at(1.0)), Anchor(at=at(1.0)))}
    return Robot(Description("parallelogram", links, gravity=(0, 0, 0), loops=loops)), np.array(
        [1.0, -1.0, 1.0 - np.pi]
    )


@pytest.mark.parametrize("method", ["bdf", "radau", "lsoda", "cvode", "ida", "generalized-alpha"])
def test_a_singular_configuration_is_named(method):
    """Coasting through the flat pose, where one of the two rows depends on the other."""
    robot, start = parallelogram()
    run = sorosim.simulate(robot, 1.5, q0=start, qd0=[-1.0, 1.0, -1.0], method=method, rtol=1e-6, atol=1e-9)
    assert "came near to a singular configuration: loop 'close' at t = " in run.message
    assert 0.98 < float(run.message.split("t = ")[1].split()[0]) < 1.02
    assert_allclose(run.q[-1], start - 1.5 * np.array([1.0, -1.0, 1.0]), atol=1e-4)
    short = sorosim.simulate(robot, 0.5, q0=start, qd0=[-1.0, 1.0, -1.0], method=method)
    assert "singular" not in short.message


def test_passing_a_dead_point_is_survived():
    """A parallelogram that is driven through the pose in which all its links lie on one line."""
    robot, start = parallelogram()
    assert max(max(gap) for gap in robot.loop_gaps(start).values()) < 1e-12
    run = sorosim.simulate(robot, 2.0, driven={"a": "1 - 1.0123*t"}, q0=start, method="generalized-alpha")
    assert run.drift["close"].max() < 1e-9
    assert_allclose(run.q[-1, 0], 1.0 - 2.0246)


def test_a_soft_ring_keeps_closed_in_motion():
    """A straight rod bent to a ring, its tip glued to its base."""
    rubber = Material(1e6, poisson=0.5, density=1100.0, damping=3e3)
    rod = Rod((Division(0.5, Circle(0.005), rubber, Strain(torsion=2, bending=4, elongation=1), quadrature=8),))
    loops = {"ring": Loop(Joint("fixed"), Anchor("ring"), Anchor())}
    robot = Robot(Description("ring", (Link("ring", rod),), gravity=(0, 0, -9.81), loops=loops))
    bent = np.zeros(robot.ndof)
    bent[robot.coordinate_names.index("ring.bending_y[0]")] = -2.0 * np.pi
    eq = sorosim.statics(robot, q0=bent)
    assert max(max(gap) for gap in robot.loop_gaps(eq.q).values()) < 1e-12
    run = sorosim.simulate(robot, 0.3, q0=bent, method="generalized-alpha")
    assert run.drift["ring"].max() < 1e-9
    slow = sorosim.simulate(robot, 0.3, q0=bent, method="bdf")
    assert_allclose(run.positions("ring", 0.5), slow.positions("ring", 0.5), atol=2e-3)


def test_wrong_loops_are_refused():
    robot = linkage()
    base = robot.description
    for loop, message in (
        (Loop(Joint("revolute"), Anchor("nowhere")), "a link of this robot or 'world', got 'nowhere'"),
        (Loop(Joint("revolute"), Anchor("c"), Anchor("c")), "both on the same place"),
    ):
        with pytest.raises(ModelError, match=message):
            Robot(replace(base, loops={"close": loop}))
    for joint, message in (("universal", "close the chain at another"), ("free", "a free joint closes nothing")):
        with pytest.raises(ModelError, match=message):
            Loop(Joint(joint), Anchor("c"))
    with pytest.raises(ModelError, match="none in a spherical loop"):
        Loop(Joint("spherical", stiffness=1.0), Anchor("c"))


@pytest.mark.parametrize("n", [3, 5, 20])
def test_a_straight_chain_closes_to_a_shorter_distance(n):
    """No rotation of its links brings its ends nearer to first order: the straight chain is a saddle of the errors."""
    h, axis = 1.0 / n, {"revolute": {"axis": [0, 1, 0]}}
    links = {
        f"k{i}": {"parent": f"k{i - 1}" if i else "world", "joint": axis, "at": {"position": [h if i else 0, 0, 0]},
                  "body": {"mass": 0.1 / n, "inertia": [1e-6] * 3, "centre": [h / 2, 0, 0]}}
        for i in range(n)
    }  # fmt: skip
    end = {"from": {"link": f"k{n - 1}", "at": {"position": [h, 0, 0]}}, "joint": axis,
           "to": {"link": "world", "at": {"position": [0.6, 0, 0]}}}  # fmt: skip
    robot = sorosim.load({"sorosim": 1, "name": "chain", "links": links, "loops": {"end": end}})
    assert max(robot.loop_gaps(sorosim.assemble(robot).q)["end"]) < 1e-9
    found = sorosim.statics(robot)
    # three of five rows depend on each other: without them the wrenches of both ends carry the weight in its plane
    x, y, z = found.loop_wrench("end")[3:]
    assert max(robot.loop_gaps(found.q)["end"]) < 1e-9
    assert abs(y) < 1e-9
    # moments about the first hinge: the last hinge is level with it and bears half of the weight by symmetry
    assert 2.0 * np.hypot(x, z) >= 0.1 * 9.81 * (1.0 - 1e-9)
    points = np.array([robot.pose(found.q, f"k{i}")[:3, 3] for i in range(n)] + [[0.6, 0.0, 0.0]])
    assert_allclose(points[:, 0] + points[::-1, 0], 0.6, atol=1e-7)
    assert_allclose(points[:, 2], points[::-1, 2], atol=1e-7)


# -- rods -------------------------------------------------------------------------------------------------------------


def pinned_rod(target, strain, radius=1e-3, joint=None):
    """A straight rod of a metre along x on a hinge, whose tip is to come to another hinge."""
    hinge = {"revolute": {"axis": [0, 1, 0]}}
    return sorosim.load({
        "sorosim": 1, "materials": {"m": {"young": 1e6, "poisson": 0.5, "density": 1000}},
        "links": {"rod": {"joint": joint or hinge, "rod": {
            "length": 1.0, "section": {"circle": {"radius": radius}}, "material": "m", "strain": strain}}},
        "loops": {"end": {"joint": hinge, "from": "rod", "to": {"at": {"position": target}}}},
    })  # fmt: skip


def targets(n):
    """Places within reach: 30 to 97 % of the length away, up to 60 degrees off the axis."""
    rng = np.random.default_rng(0)
    away, angle = rng.uniform([0.3, -np.pi / 3], [0.97, np.pi / 3], (n, 2)).T
    return np.stack([away * np.cos(angle), 0.0 * away, away * np.sin(angle)], axis=1).tolist()


def least_distance(robot, rng, size, tries=4):
    """The least z of closed states by sequential quadratic programming from random starts."""
    free = np.arange(robot.ndof)
    U = elastic_weight(robot, robot.initial_q, free, softest=True)
    closing = _Closing(robot, robot.initial_q, free, U)
    rows = np.abs(closing.scaled(rng.normal(size=robot.ndof) * size)[1]).max(axis=1) > 1e-9  # not those of the plane
    found = []
    for _ in range(tries):
        same = minimize(
            lambda y: (y @ y, 2.0 * y), rng.normal(size=robot.ndof), jac=True, method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-12},
            constraints={"type": "eq", "fun": lambda y: closing.scaled(y * size)[0][rows],
                         "jac": lambda y: size * closing.scaled(y * size)[1][rows]},
        )  # fmt: skip
        if np.abs(closing.scaled(same.x * size)[0]).max() < 1e-6:
            found.append(float(np.linalg.norm(same.x)) * size)
    return min(found)


@pytest.mark.parametrize("strain", [{}, {"elongation": 0}, {"elongation": 1}], ids=["stiff", "even", "linear"])
@pytest.mark.parametrize(("radius", "n"), [(1e-3, 24), (2e-2, 6)])
def test_rods_close_to_all_that_is_within_reach(strain, radius, n):
    """A thin rod bends, since that costs little, however it could stretch."""
    for target in targets(n):
        robot = pinned_rod(target, {"bending_y": 4, **strain}, radius)
        found = sorosim.assemble(robot)
        assert robot.loop_gaps(found.q)["end"][0] < 1e-9
        tangents = robot.poses(found.q, "rod", s=np.linspace(0.0, 1.0, 100))[:, :3, 0]
        turn = np.arccos(np.clip(np.sum(tangents[1:] * tangents[:-1], axis=1), -1.0, 1.0)).sum()
        assert turn < np.radians(280.0)  # an elastica whose ends are 0.3 of its length apart: 210 degrees, clamped 260


@pytest.mark.parametrize("joint", [None, "fixed"])
def test_of_closed_states_of_rods_the_nearest_is_found(joint, rng):
    for target in targets(3):
        robot = pinned_rod(target, {"bending_y": 4, "elongation": 1}, 1e-2, joint)
        moved = sorosim.assemble(robot).moved
        assert moved <= least_distance(robot, rng, moved) * (1.0 + 1e-2)


def test_a_closed_rod_is_near_to_its_equilibrium_without_weight():
    """Its elastic energy is about the least with closed loops: that of statics, which shares nothing with closing."""
    for target in targets(4):
        robot = pinned_rod(target, {"bending_y": 4, "elongation": 0}, 1e-2)
        robot = Robot(replace(robot.description, gravity=(0, 0, 0)))
        closed, eq = sorosim.assemble(robot).q, sorosim.statics(robot).q
        energies = [robot.energy(q, 0.0 * q).elastic for q in (closed, eq)]
        # inertia has a hundredth of the weight of the softest mode, of which the displacement is some parts
        assert_allclose(*energies, rtol=0.02)


@pytest.mark.parametrize("base", BASES)
def test_a_loop_closes_with_no_more_energy_than_a_known_shape(base):
    trial = closing(np.random.default_rng(1), base)
    assert not trial.error
    assert trial.missed < 1e-9
    assert trial.energy < MORE * trial.known_energy


# a rod whose straight start lies along the way to its loop, which springs once left too early; and one that Newton's
# method once closed by drawing it through its own base
@pytest.mark.parametrize(("base", "seed"), [("spherical", (483, 6)), ("helical", (472, 4))])
def test_a_loop_closes_where_a_straight_rod_shows_no_way(base, seed):
    trial = closing(np.random.default_rng(seed), base)
    assert not trial.error
    assert trial.energy < MORE * trial.known_energy


def ring(**initial):
    """A rod bent to a ring, whose tip is glued to a joint that turns about its tangent."""
    return sorosim.load({
        "sorosim": 1, "gravity": [0, 0, 0], "materials": {"m": {"young": 1e6, "poisson": 0.5, "density": 1000}},
        "links": {
            "ring": {"rod": {"length": 1.0, "section": {"circle": {"radius": 3e-3}}, "material": "m",
                             "strain": {"bending": 8, "torsion": 8}}},
            "turn": {"joint": {"revolute": {"axis": [1, 0, 0]}}},
        },
        "loops": {"closed": {"joint": "fixed", "from": "ring", "to": "turn"}},
        "initial": {"ring.bending_z[0]": 2.0 * np.pi, **initial},
    })  # fmt: skip


def test_a_ring_is_twisted_by_whole_turns_too():
    """Below Michell's twist, 2 pi sqrt(3) EI/GJ = 16.3 rad, the ring stays plane, and all of the turn is twist."""
    robot = ring()
    eq = sorosim.statics(robot, driven={"turn": 11.0})
    assert_allclose(eq.q[robot.coordinate_names.index("ring.torsion[0]")], 11.0, rtol=5e-3)
    assert "'turn.revolute' carried the loops there, turn by turn" in eq.message
    assert max(max(gap) for gap in robot.loop_gaps(eq.q).values()) < 1e-9


def test_whole_turns_that_cannot_be_carried_are_said():
    """The loops of the start are open: nothing tells how the tip came round."""
    found = sorosim.assemble(ring(**{"ring.bending_z[0]": 6.0}), driven={"turn": 11.0})
    assert "carried" not in found.message
    assert "whole turns of 'turn.revolute' are not counted by the loops" in found.message


def test_a_loop_that_is_hardly_open_is_closed():
    """Parts of a distance are within what counts as closed, the distance itself is not."""
    robot = sorosim.load("four_bar")
    q = sorosim.assemble(robot, robot.initial_q).q
    rows = robot.loop_rows(q).A
    extent = robot.engine.loop_layout.extent["pin"]
    # along two axes of the plane, each by 0.9 of the limit
    wanted = np.zeros(len(rows))
    own = np.flatnonzero(np.abs(robot.loop_rows(q + 1e-3).error) > 1e-9)
    distances = [i for i in own if not robot.engine.loop_layout.turns[i]]
    wanted[distances] = 0.9 * CLOSED * extent
    moved = q + np.linalg.lstsq(rows, wanted, rcond=1e-9)[0]
    assert open_loops(robot, moved)
    closed, _, why = close_if_possible(robot, moved, np.arange(robot.ndof))
    assert not why
    assert not open_loops(robot, closed)
