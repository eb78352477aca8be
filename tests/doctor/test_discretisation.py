"""The estimate of the discretisation error against the true one, that to a robot with eight more orders."""

import re

import numpy as np
import pytest

import sorosim
from sorosim.analysis.results.result import Equilibrium
from sorosim.studies.doctor.context import CheckContext
from sorosim.studies.doctor.discretisation import Shift, discretisation, finer, gains, largest_shift, refined, transfer
from sorosim.studies.doctor.findings import ODD, OK
from tests.helpers.arms import changed, rubber_arm
from tests.helpers.winding import LENGTH, helical_robot, helical_tip

CANTILEVER = changed(
    rubber_arm(["1 cm", "5 mm"], "40 cm", bending=2),
    {"actuators.pull.tendon.z": "0.6*r", "statics.u": {"pull": "0.5 N"}},
)


def true_shift(robot, state):
    """Against eight more orders, reached through two, four and six, so that it is the same equilibrium."""
    found = state
    for richer in (2, 4, 6, 8):
        fine = refined(robot, richer)
        found = finer(found.robot, fine, transfer(found.robot, fine), found)
    return largest_shift(state, found)


def estimated(robot):
    found = (f for f in discretisation(CheckContext(robot)) if f.code == "discretisation.tip")
    return max(found, key=lambda f: f.value)


def cantilever(basis, bending, **more):
    strain = {"basis": basis, "bending": bending, **more}
    return sorosim.load(CANTILEVER, set={"links.arm.rod.strain": strain})


@pytest.mark.parametrize(
    ("basis", "order"),
    [("legendre", k) for k in range(5)] + [("chebyshev", 2), ("monomial", 3), ("linear_elements", 2),
     ("linear_elements", 4), ("quadratic_elements", 2), ("hermite", 2), ("gaussian", 3)],
)  # fmt: skip
def test_the_estimate_is_of_the_size_of_the_error(basis, order):
    robot = cantilever(basis, order)
    context = CheckContext(robot)
    states = [context.equilibrium, context.actuated_equilibrium]
    worst = max((true_shift(robot, state) for state in states), key=lambda shift: shift.percent)
    found = estimated(robot)
    assert found.value / 1.5 <= worst.percent <= 1.5 * found.value
    if worst.percent > 5.0:
        assert found.level == ODD
    assert found.level != OK or worst.percent < 1.5


@pytest.mark.parametrize(
    "name",
    [
        "cable_manipulator",
        "hybrid_serial",
        "soft_gripper",
        "pneumatic_bellow",
        pytest.param("soft_ring", marks=pytest.mark.slow),
    ],
)
def test_the_estimate_holds_for_bundled_robots(name):
    robot = sorosim.load(name)
    context = CheckContext(robot)
    states = [state for state in (context.equilibrium, context.actuated_equilibrium) if isinstance(state, Equilibrium)]
    worst = max((true_shift(robot, state) for state in states), key=lambda shift: shift.percent)
    found = estimated(robot)
    # below a millionth of the length both are of the size of what solvers leave
    assert worst.percent / 1.5 - 1e-4 <= found.value <= 1.5 * worst.percent + 1e-4


@pytest.mark.parametrize("bending", [1, 3, 5])
def test_a_rope_whose_tip_is_held_is_judged_in_its_middle(bending):
    hinge = {"revolute": {"axis": [0, 1, 0]}}
    robot = sorosim.load({
        "sorosim": 1,
        "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": 1100}},
        "links": {"rope": {
            "joint": hinge,
            "rod": {"length": "1.2 m", "section": {"circle": {"radius": "5 mm"}}, "material": "rubber",
                    "strain": {"bending_y": bending, "elongation": 1}},
        }},
        "loops": {"hook": {"joint": hinge, "from": "rope", "to": {"at": {"position": [1, 0, 0]}}}},
    })  # fmt: skip
    state = CheckContext(robot).equilibrium
    assert np.linalg.norm(state.tip() - [1.0, 0.0, 0.0]) < 1e-9
    true, found = true_shift(robot, state), estimated(robot)
    assert true.s < 1.0
    assert found.value / 1.5 <= true.percent <= 1.5 * found.value
    assert "'rope' at s = 0." in found.what


def test_a_rod_that_rests_straight_is_named():
    robot = sorosim.load(CANTILEVER, set={"gravity": [0, 0, 0], "statics.u": {"pull": 0}})
    assert "'arm'" in estimated(robot).what


def test_the_frequency_of_a_uniform_cantilever_is_judged_rightly():
    """Against the exact beta_1 L = 1.8751 of a slender beam without gravity; rotary inertia is 1e-4 of it."""
    changes = {"gravity": [0, 0, 0], "links.arm.rod.section.circle.radius": "4 mm", "statics": {}}
    for order in (0, 1):
        robot = sorosim.load(CANTILEVER, set={**changes, "links.arm.rod.strain": {"bending": order},
                                              "actuators.pull.tendon.z": "r/2"})  # fmt: skip
        EI, line = 1e6 * np.pi / 4 * 0.004**4, 1000.0 * np.pi * 0.004**2
        exact = 1.875104**2 / (2.0 * np.pi * 0.4**2) * np.sqrt(EI / line)
        context = CheckContext(robot)
        true = 100.0 * abs(context.frequencies[0] / exact - 1.0)
        (found,) = (f for f in discretisation(context) if "frequency" in f.what)
        assert true / 1.5 <= found.value <= 1.5 * true, order


def test_what_matters_most_is_named():
    """Of two rods in series one has an order that is too low."""
    rod = CANTILEVER["links"]["arm"]["rod"]
    soft = {**rod, "section": {"circle": {"radius": "3 mm"}}, "strain": {"bending": 0}}
    links = {"arm": {"rod": {**rod, "strain": {"bending": 6}}}, "end": {"parent": "arm", "rod": soft}}
    rubber = {"rubber": {**CANTILEVER["materials"]["rubber"], "young": "20 MPa"}}
    robot = sorosim.load({"sorosim": 1, "materials": rubber, "links": links})
    found = estimated(robot)
    assert found.level == ODD
    assert "order 2 for bending_y of links.end.rod matters most" in found.remedy
    # and it does: with that order there is nothing left to say
    links["end"]["rod"]["strain"] = {"bending": 2}
    better = sorosim.load({"sorosim": 1, "materials": rubber, "links": links})
    assert estimated(better).value < 0.1 * found.value
    context = CheckContext(robot)
    fine = refined(robot)
    shift = Shift("end", 1.0, 0.0, 0.0)
    known = gains(robot, fine, transfer(robot, fine), context.equilibrium, shift)
    best = max(known, key=lambda gain: gain.distance)
    assert (best.where, best.strain, best.order) == ("links.end.rod", "bending_y", 2)


def test_shapes_are_the_same_seen_from_a_finer_robot():
    robot = sorosim.load("tree_of_rods")
    fine = refined(robot)
    q = 0.1 * np.random.default_rng(0).normal(size=robot.ndof)
    a, b = (
        [r.pose(x, link.name)[:3, 3] for link in robot.links]
        for r, x in ((robot, q), (fine, transfer(robot, fine) @ q))
    )
    # Gauss points differ, so the Magnus steps do
    np.testing.assert_allclose(a, b, atol=1e-5)


def test_floating_robots_are_judged_by_their_frequencies():
    found = list(discretisation(CheckContext(sorosim.load("flying_rod"))))
    assert [("frequency" in f.what, f.level) for f in found] == [(True, OK)]


def random_rod(rng):
    """A rod of random stiffness, taper, basis and order, under gravity and forces of random directions."""
    young, length, taper = 10.0 ** rng.uniform(4.9, 7.0), rng.uniform(0.1, 1.0), rng.uniform(0.15, 1.0)
    radius = length / rng.uniform(15.0, 60.0)
    basis = ("legendre", "linear_elements", "monomial")[rng.integers(3)]
    order = int(rng.integers(1, 6)) if basis == "linear_elements" else int(rng.integers(0, 5))
    force = rng.normal(size=3) * young * radius**4 / length**2 * rng.uniform(0.0, 2.4)
    section = {"circle": {"radius": [radius, radius * taper]}}
    strain = {"basis": basis, "bending": order}
    rod = {"length": length, "section": section, "material": "rubber", "strain": strain}
    rubber = {"young": young, "poisson": 0.5, "density": 1000.0, "damping": 1000.0}
    tip = {"wrench": {"link": "arm", "force": list(force)}}
    middle = {"wrench": {"link": "arm", "s": rng.uniform(0.2, 0.8), "force": list(-force * rng.random())}}
    return sorosim.load({"sorosim": 1, "gravity": list(5.0 * rng.normal(size=3)), "materials": {"rubber": rubber},
                         "links": {"arm": {"rod": rod}}, "loads": {"tip": tip, "middle": middle}})  # fmt: skip


@pytest.mark.parametrize("n", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_the_estimate_is_never_silent_about_random_rods(n):
    """Within a factor of 2 of the truth for all but a few whose error is far too small to matter."""
    rng, ratios = np.random.default_rng(11), []
    for _ in range(n):
        robot = random_rod(rng)
        rest = CheckContext(robot).equilibrium
        if isinstance(rest, str):
            continue  # none was found: that is reported too
        try:
            true = true_shift(robot, rest).percent
        except sorosim.ConvergenceError:
            continue
        found = estimated(robot)
        if true > 5.0:
            assert found.level != OK
        if true > 1e-3:
            ratios.append(found.value / true)
        if true > 0.2:
            assert 1.0 / 1.5 < ratios[-1] < 1.5
    assert len(ratios) > 0.9 * n
    within = np.abs(np.log(ratios)) < np.log(2.0)
    assert (~within).sum() <= max(1, 0.02 * n)


@pytest.mark.parametrize(
    ("turns", "tension", "order", "points", "discs"),
    [(1, 10, 8, 11, 0), (1, 10, 8, 11, 10), (1, 10, 10, 15, 10), (1, 10, 4, None, 10), (1, 10, 8, None, 0),
     (0.5, 10, 8, None, 10), (2, 10, 8, 11, 0), (2, 3, 12, None, 0)],
)  # fmt: skip
def test_the_estimate_sees_points_as_well_as_orders(turns, tension, order, points, discs):
    """Against the exact tip, where either may be what lacks."""
    content = helical_robot(order, turns=turns, tension=tension, discs=discs, quadrature=points)
    robot = sorosim.load(content)
    stiffness = robot.links[0].rod.divisions[0].line_stiffness(np.zeros(1))[0]
    exact = helical_tip(stiffness, turns, tension)
    true = np.linalg.norm(sorosim.statics(robot).tip() - exact)
    found = estimated(robot)
    assert 0.5 < 0.01 * found.value * LENGTH / true < 1.5
    if "lack of points" not in found.what:
        assert points is None or turns == 2
        return
    n = int(re.search(r"quadrature: (\d+) in links.rod.rod", found.what).group(1))
    mended = sorosim.load(content, set={"links.rod.rod.quadrature": n})
    # of what points miss, more than half of all, no more than a quarter is left (a sixteenth, but for discs), beside
    # what orders miss, less than half
    assert np.linalg.norm(sorosim.statics(mended).tip() - exact) < 0.75 * true


def test_points_are_what_lacks_where_a_moment_winds_a_straight_rod():
    """A dead force across it moves the equilibrium by ten times what points miss of its poses."""
    section = {"properties": {"area": 1.0, "Iy": 0.01, "Iz": 0.01, "J": 0.01}}
    strain = {"bending": 8, "torsion": 8, "elongation": 8, "shear": 8}
    rod = {"length": 10, "section": section, "material": "m", "strain": strain}
    tip = {"link": "rod", "moment": [0, 0, 20.0 * np.pi], "force": [0, 0, 5.0]}
    content = {"sorosim": 1, "gravity": [0, 0, 0], "materials": {"m": {"young": 1e4, "shear": 1e4, "density": 1.0}},
               "links": {"rod": {"rod": rod}}, "loads": {"tip": {"wrench": tip}}}  # fmt: skip
    # by shooting on the equations of a Cosserat rod with rtol 1e-10, z is -1.09173
    exact = sorosim.statics(sorosim.load(content, set={"links.rod.rod.quadrature": 80})).tip()
    assert exact[2] == pytest.approx(-1.09173, abs=2e-5)
    robot = sorosim.load(content)
    found, true = estimated(robot), np.linalg.norm(sorosim.statics(robot).tip() - exact)
    assert 0.5 < 0.1 * found.value / true < 2.0
    assert "most of it for lack of points; try quadrature: 22 in links.rod.rod" in found.what
