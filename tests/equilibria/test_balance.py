"""What statics returns is balanced in forces, whatever conditions of its loops depend on each other."""

import warnings

import numpy as np
import pytest
from validation.linkages import bennett

import sorosim
from sorosim.analysis.equations.system import StaticSystem
from sorosim.base.errors import ConvergenceError
from sorosim.files import load_text
from sorosim.mechanics.dynamics.constraints import IndependentRows
from sorosim.mechanics.engine import tasks as task


def held_rod(strain, joint):
    """A straight rod on a clamp, its other end held where it is, with a tendon beside its axis."""
    return sorosim.load({
        "sorosim": 1, "name": "held rod", "materials": {"m": {"young": 2e7, "poisson": 0.45, "density": 1000}},
        "links": {"a": {"rod": {"length": 0.3, "section": {"circle": {"radius": 0.01}}, "material": "m",
                                "strain": strain}}},
        "actuators": {"t": {"tendon": {"rod": "a", "y": 0.0, "z": 0.005}}},
        "loops": {"c": {"joint": joint, "from": "a", "to": {"link": "world", "at": {"as_built": True}}}},
    })  # fmt: skip


HINGE = {"revolute": {"axis": [0, 1, 0]}}


def left_over(eq):
    """Forces (n_free,) that springs, actuators, weight and the loops' multipliers leave, and the largest of them."""
    robot, zero = eq.robot, np.zeros(eq.robot.ndof)
    forces = robot.internal_force(eq.q, zero, u=eq.u) - robot.inverse_dynamics(eq.q, zero, qdd=zero)
    return (forces + robot.loop_rows(eq.q).A.T @ eq.lam)[np.asarray(eq.free)], np.abs(forces).max()


@pytest.mark.parametrize("joint", [HINGE, "fixed"], ids=["hinge", "clamp"])
@pytest.mark.parametrize("u", [0.0, 20.0])
def test_a_straight_rod_that_cannot_be_stretched_has_no_equilibrium_of_finite_forces_between_its_ends(joint, u):
    with pytest.raises(ConvergenceError, match=r"no finite force of 'c' balances.*elongation") as caught:
        sorosim.statics(held_rod({"bending": 3, "torsion": 1}, joint), u=[u])
    partial = caught.value.partial
    left, size = left_over(partial)
    assert np.abs(left).max() > 0.1 * size
    np.testing.assert_allclose(partial.residual_norm, np.abs(left).max(), rtol=1e-9)  # it is reported in forces


@pytest.mark.parametrize("u", [0.0, 20.0])
def test_the_same_rod_is_balanced_where_it_can_be_stretched_and_linearize_agrees(u):
    eq = sorosim.statics(held_rod({"bending": 3, "torsion": 1, "elongation": 1}, HINGE), u=[u])
    left, size = left_over(eq)
    assert np.abs(left).max() < 1e-9 * size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert eq.linearize().stable


BAR = "joint: {{revolute: {{axis: [0, 1, 0]}}}}, body: {{mass: 1 kg, centre: [{0}, 0, 0], inertia: [1e-3, 4e-3, 4e-3]}}"
PARALLELOGRAM = f"""sorosim: 1
name: parallelogram
links:
  a: {{{BAR.format(0.1)}, frames: {{end: {{position: [20 cm, 0, 0]}}}}}}
  b: {{parent: a, at: {{frame: end}}, {BAR.format(0.15)}}}
  c: {{at: {{position: [30 cm, 0, 0]}}, {BAR.format(0.1)}}}
loops:
  l: {{joint: {{revolute: {{axis: [0, 1, 0]}}}}, from: {{link: b, at: {{position: [30 cm, 0, 0]}}}}, to: {{link: c, at: {{position: [20 cm, 0, 0]}}}}}}
"""  # noqa: E501


@pytest.mark.parametrize("q0", [[0, 0, 0], [np.pi, -np.pi, np.pi], [-1.0, 1.0, -1.0]])
def test_a_parallelogram_hangs_also_from_a_flat_start_where_it_is_singular(q0):
    eq = sorosim.statics(load_text(PARALLELOGRAM, "parallelogram.yaml"), q0=q0)
    np.testing.assert_allclose(eq.q, [np.pi / 2, -np.pi / 2, np.pi / 2], atol=1e-9)
    left, size = left_over(eq)
    assert np.abs(left).max() < 1e-9 * size


@pytest.mark.parametrize("name", ["four_bar", "hybrid_parallel", "slider_crank"])
def test_equations_of_motion_and_statics_count_the_same_independent_conditions(name):
    robot = sorosim.load(name)
    q = sorosim.assemble(robot).q
    zero = np.zeros(robot.ndof)
    out = robot.engine.evaluate(task.FORWARD, q, zero, zero.copy(), robot.inputs(None))
    rows = robot.loop_rows(q)
    independent = IndependentRows(robot.engine, rows.A, rows.error)
    assert independent.rank == int(out.regularity[0]) == np.linalg.matrix_rank(rows.A, tol=1e-6)
    # motions that keep the loops closed, and the smallest multipliers, against singular values
    Z = independent.motions()
    assert Z.shape == (robot.ndof, robot.ndof - independent.rank)
    np.testing.assert_allclose(rows.A @ Z, 0.0, atol=1e-7 * np.abs(rows.A).max())
    size, forces = robot.engine.loops.row_scale, np.random.default_rng(0).normal(size=robot.ndof)
    smallest = size * (np.linalg.pinv((size[:, None] * rows.A).T, rcond=1e-7) @ forces)
    np.testing.assert_allclose(independent.multipliers(forces), smallest, rtol=1e-6, atol=1e-6 * np.abs(smallest).max())


def catheter(**changes):
    """A slender rod curved in its plane, pushed in that plane against its end."""
    return sorosim.load({
        "sorosim": 1, "name": "catheter", "gravity": [0, 0, 0],
        "materials": {"m": {"young": 1e6, "poisson": 0.45, "density": 1000, "damping": 1e4}},
        "links": {"a": {"rod": {"length": 0.3, "section": {"rectangle": {"y": 0.004, "z": 0.01}}, "material": "m",
                                "strain": {"bending": 4, "torsion": 3}}}},
        "loads": {"push": {"wrench": {"link": "a", "force": [0, 0, -0.3]}}},
        **changes,
    })  # fmt: skip


def test_statics_says_where_it_left_the_plane_in_which_a_motion_stays():
    eq = sorosim.statics(catheter())  # a strip on edge: it buckles sideways
    assert abs(eq.tip()[1]) > 0.01
    assert "it left the symmetry of the start along" in eq.message
    kept = sorosim.statics(catheter(), stable=False)
    assert abs(kept.tip()[1]) < 1e-6
    assert "symmetry" not in kept.message
    run = sorosim.simulate(catheter(), 0.05)
    assert np.abs(run.tip()[:, 1]).max() < 1e-6


def test_statics_says_nothing_of_symmetry_where_forces_lead():
    eq = sorosim.statics(catheter(loads={"push": {"wrench": {"link": "a", "force": [0, 0.05, -0.05]}}}))
    assert abs(eq.q[-1]) > 1e-4  # it twists, though nothing twists it at the start
    assert "symmetry" not in eq.message


HINGED = (
    "joint: {{revolute: {{axis: [0, 1, 0]{0}}}}}, body: {{mass: {1}, centre: [{2}, 0, 0], inertia: [1e-5, 2e-3, 2e-3]}}"
)
FOUR_BAR = f"""sorosim: 1
name: four-bar
gravity: [0, 0, -9.81]
parameters: {{a: 10 cm, b: 24 cm, c: 20 cm, d: 25 cm}}
links:
  crank: {{{HINGED.format(", stiffness: 0.5", 0.2, "$a/2")}}}
  coupler: {{parent: crank, at: {{position: [$a, 0, 0]}}, {HINGED.format("", 0.4, "$b/2")}}}
  rocker: {{at: {{position: [$d, 0, 0]}}, {HINGED.format("", 0.3, "$c/2")}}}
loops:
  pin:
    joint: {{revolute: {{axis: [0, 1, 0]}}}}
    from: {{link: coupler, at: {{position: [$b, 0, 0]}}}}
    to: {{link: rocker, at: {{position: [$c, 0, 0]}}}}
initial: {{crank.revolute: -70 deg, coupler.revolute: 40 deg, rocker.revolute: -110 deg}}
"""
GUIDES = """sorosim: 1
name: table on parallel guides
gravity: [0, 0, -9.81]
parameters: {w: 30 cm, k: 200 N/m}
links:
  table:
    joint: {prismatic: {axis: [0, 0, 1], stiffness: $k}}
    body: {mass: 2 kg, centre: [10 cm, 0, 0], inertia: [0.01, 0.01, 0.01]}
loops:
  right:
    joint: {prismatic: {axis: [0, 0, 1]}}
    from: {link: table, at: {position: [$w, 0, 0]}}
    to: {link: world, at: {position: [$w, 0, 0]}}
"""
FINGER = """sorosim: 1
name: finger that is pressed on a table
gravity: [0, 0, 0]
parameters: {arm: 12 cm, base: 9 mm, tip: 6 mm, height: 10.392 cm, x: 6 cm}
materials: {rubber: {young: 1 MPa, poisson: 0.49, density: 1100 kg/m^3}}
links:
  slide:
    at: {position: [0, 0, $height]}
    joint: {prismatic: {axis: [0, 0, 1]}}
    body: {mass: 50 g, inertia: [1e-5, 1e-5, 1e-5]}
  finger:
    parent: slide
    at: {rotation: {axis: [0, 1, 0], angle: 60 deg}}
    rod:
      {length: $arm, section: {circle: {radius: [$base, $tip]}}, material: rubber,
       strain: {bending_y: 4, elongation: 1}}
  shoe: {at: {position: [$x, 0, 0]}, joint: {prismatic: {axis: [1, 0, 0]}}}
loops:
  table: {joint: {revolute: {axis: [0, 1, 0]}}, from: finger, to: shoe}
"""
OF_DEPENDENT_ROWS = {
    "four-bar": (FOUR_BAR, {"a": 0.1, "b": 0.24, "c": 0.2, "d": 0.25}, 0.06, {}),
    "guides": (GUIDES, {"w": 0.3, "k": 200.0}, 0.2, {}),
    "finger pressed": (FINGER, {"arm": 0.12, "base": 0.009, "tip": 0.006}, 0.2, {"slide": "-2 cm"}),
    "finger stretched": (FINGER, {"arm": 0.1, "base": 0.009, "tip": 0.006}, 0.1, {"slide": "-2 mm"}),
    "finger of another place": (FINGER, {"height": 0.104, "x": 0.06}, 0.1, {"slide": "-1 cm"}),
}


def gap(robot, q):
    return max(map(max, robot.loop_gaps(q).values()))


@pytest.mark.parametrize("name", OF_DEPENDENT_ROWS)
def test_statics_of_loops_with_dependent_rows_goes_from_an_equilibrium_at_another_size(name):
    text, numbers, by, driven = OF_DEPENDENT_ROWS[name]

    def at(change):
        sizes = (np.array(list(numbers.values())) * (1.0 + change)).tolist()
        return load_text(text, "r.yaml", set=dict(zip((f"parameters.{n}" for n in numbers), sizes, strict=True)))

    rng, first = np.random.default_rng(0), sorosim.statics(at(np.zeros(len(numbers))), driven=driven)
    for change in rng.uniform(-by, by, (4, len(numbers))):
        robot = at(change)
        assert (
            sorosim.statics(robot, driven=driven).lam.size
            > IndependentRows(robot.engine, robot.loop_rows(first.q).A).rank
        )
        for q0 in (None, first.q, first):
            eq = sorosim.statics(robot, driven=driven, q0=q0)
            assert gap(robot, eq.q) < 1e-12
            left, size = left_over(eq)
            assert np.abs(left).max() <= 1e-9 * max(size, 1e-3)  # 1 mN; of rounding where springs bear all


def test_the_force_on_a_pressed_finger_is_the_slope_of_its_elastic_energy():
    robot, h = load_text(FINGER, "r.yaml", set={"parameters.arm": 0.096}), 1e-5

    def energy(z):
        return robot.energy(sorosim.statics(robot, driven={"slide": z}).q, np.zeros(robot.ndof)).elastic

    eq = sorosim.statics(robot, driven={"slide": -0.02})
    np.testing.assert_allclose(eq.driven["slide"], (energy(-0.02 + h) - energy(-0.02 - h)) / (2 * h), rtol=1e-4)


@pytest.mark.parametrize("linkage", ["four-bar", "finger", "Bennett"])
def test_newtons_method_converges_quadratically_where_rows_of_loops_depend_on_each_other(linkage):
    robot = {"four-bar": lambda: load_text(FOUR_BAR, "r.yaml"), "finger": lambda: load_text(FINGER, "r.yaml"),
             "Bennett": lambda: bennett((0.0, -9.81, 2.0))}[linkage]()  # fmt: skip
    driven = {"slide": -0.02} if linkage == "finger" else {}
    eq = sorosim.statics(robot, driven=driven, q0=[0.5, 1.0, -0.5] if linkage == "Bennett" else None)
    system = StaticSystem(robot, robot.inputs(None), driven)
    A = robot.loop_rows(eq.q).A[:, system.partition.free]
    system.scale_constraints(np.zeros(len(A)), A)
    assert system.rank < len(A)
    exact = system.start(eq.q)
    x = exact + 1e-2 * np.random.default_rng(3).normal(size=len(exact)) * (1.0 + np.abs(exact))
    for _ in range(5):  # of Bennett's linkage rows depend on each other only where it is closed, after the first
        residual, K = system.jacobian(x, 1.0)
        x = x - np.linalg.solve(K, residual)
    np.testing.assert_allclose(x[: system.n_free], eq.q[system.partition.free], atol=1e-12)


@pytest.mark.parametrize("slide", ["-2 mm", "-2 cm"])
@pytest.mark.parametrize("arm", ["7 cm", "8.6 cm", "9.6 cm"])
def test_a_rod_is_stretched_where_a_slider_without_mass_lets_its_loop_close(arm, slide):
    """Such a slider moves for nothing, and rows that only a stretch of the rod closes are faint beside its own."""
    robot = load_text(FINGER, "r.yaml", set={"parameters.arm": arm})
    for begin in (None, sorosim.assemble(robot, driven={"slide": "-5 cm"}).q):
        assert gap(robot, sorosim.assemble(robot, begin, driven={"slide": slide}).q) < 1e-9
    assert sorosim.statics(robot, driven={"slide": slide}).stable
