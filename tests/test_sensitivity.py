"""Derivatives by scalars of a robot's file: against differences for every scalar of files, and what is exact."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from helpers.differences import best_slope, relative_error, slope

import sorosim
from sorosim.analysis.sensitivity import closed_coordinates, equilibrium_by_inputs
from sorosim.base.complex_step import is_varying
from sorosim.base.errors import InputError, ModelError
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.material import Material

FILES = Path(__file__).parent / "files"
# differences of the fourth order over this part of a scalar (of 0.01 where it is less) are right to 1e-9 or so, but
# for screws that turn by a radian with it
STEP, TOLERANCE = 1e-3, 3e-7
# a difference shows no more than this part of what it is taken of, over its step
ROUNDING = 1e-14
# scalars at the edge of what is allowed have no difference to both sides
AT_EDGES = {
    "robot": {"materials.rubber.poisson", "actuators.cable.tendon.y"},
    "joints": {"materials.rubber.poisson", *(f"links.nail.body.inertia[{i}]" for i in range(3))},
    "loads": {"materials.rubber.poisson"},
    "rows": set(),
    "loops": {
        "materials.rubber.poisson", "loops.sleeve.joint.cylindrical.damping[0]",
        *(f"{link}.body.inertia[{i}]" for link in ("prefabs.rocker.links.bar", "links.rib") for i in range(3)),
    },
}  # fmt: skip
# they turn the screw by more than a radian with the usual step
TURNING = ("parameters.pitch", "loops.screw.joint.helical.pitch", "loops.screw.from.at.s", "links.left.rod.length")
# currents, and places that are Gauss points or ends: the node there does not move with them
REFUSED = {
    "robot": {"links.tool.at.s"}, "joints": {"links.nail.at.s"}, "loops": {"links.rib.at.s", "loops.hinge.to.at.s"},
    "loads": {"loads.pull.wrench.s", "loads.sea.fluid.current[0]", "loads.sea.fluid.current[2]"}, "rows": set(),
}  # fmt: skip


def state_of(robot, seed=3, size=0.1):
    rng = np.random.default_rng(seed)
    q = robot.initial_q + size * rng.normal(size=robot.ndof)
    return q, 0.3 * rng.normal(size=robot.ndof), rng.normal(size=robot.ndof), np.full(len(robot.actuator_names), 2e-3)


def changed(source, name, value):
    return lambda x: sorosim.load(source, set={name: float(value + x)})


@pytest.mark.parametrize(
    "file", ["robot", "rows", *(pytest.param(name, marks=pytest.mark.slow) for name in ("joints", "loads", "loops"))]
)
def test_every_scalar_of_a_file_against_differences(file):
    source = FILES / f"{file}.yaml"
    robot = sorosim.load(source)
    q, qd, qdd, u = state_of(robot)
    t = 0.3

    def values(other):
        forces = [other.inverse_dynamics(q, qd, qdd=qdd, t=t), other.internal_force(q, qd, u=u, t=t)]
        return np.concatenate([*forces, *([other.loop_rows(q, qd).error] if other.n_multipliers else [])])

    n, base = robot.ndof, np.abs(values(robot))
    parts = [part for part in (slice(n), slice(n, 2 * n), slice(2 * n, None)) if len(base[part])]
    skipped, refused = set(), set()
    for name in sorosim.scalars(robot):
        try:
            found = sorosim.sensitivities(robot, [name])
        except InputError:
            refused.add(name)
            continue
        value = found.values[0]
        h = STEP * max(abs(value), 1e-2) * (0.01 if name in TURNING else 1.0)
        make = changed(source, name, value)
        try:
            numeric = slope(lambda x, make=make: values(make(x)), h, order=4)
        except sorosim.SorosimError:
            skipped.add(name)
            continue
        varied = found._vary(q, qd, qdd, u, t, np.zeros(robot.n_multipliers) if robot.n_multipliers else None)[0]
        exact = np.concatenate([
            found.inverse_dynamics(q, qd, qdd=qdd, t=t)[:, 0], found.internal_force(q, qd, u=u, t=t)[:, 0],
            varied.error,
        ])  # fmt: skip
        for part in parts:
            error, size = np.abs(exact - numeric)[part].max(), np.abs(numeric[part]).max()
            assert error <= TOLERANCE * size + ROUNDING * base[part].max() / h, (name, error, size)
    assert skipped == AT_EDGES[file]
    assert refused == REFUSED[file]


SAMPLES = {
    "cable_manipulator": ("gravity[2]", "materials.silicone.density", "links.arm.rod.length",
                          "links.arm.rod.section.circle.radius[0]"),
    "slider_crank": None,
    "puma560": ("links.forearm.dh.modified[0]", "links.forearm.dh.modified[1]", "links.upper_arm.body.mass"),
    "ur5_with_soft_gripper": ("links.forearm.dh.standard[0]", "links.wrist1.dh.standard[1]"),
    "hybrid_parallel": ("parameters.height", "parameters.reach", "links.plate.body.density",
                        "loads.push.wrench.moment[1]"),
    "underwater_vehicle": ("parameters.spread", "loads.water.fluid.density", "parts.bow.with.length"),
    "tree_of_rods": ("links.trunk.rod.length", "prefabs.apple.links.fruit.body.mass"),
    "hybrid_serial": ("parameters.next.position[2]", "links.link2.joint.revolute.axis[2]"),
}  # fmt: skip


# their kinds of parts are those of the others
LARGE = {"ur5_with_soft_gripper", "tree_of_rods", "hybrid_serial"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LARGE)) for n in SAMPLES])
def test_forward_and_hybrid_dynamics_against_differences(name):
    robot = sorosim.load(name)
    q, qd, qdd, u = state_of(robot)
    tau, known = np.ones(robot.ndof), np.arange(0, robot.ndof, 2)
    for scalar in SAMPLES[name] or list(sorosim.scalars(robot))[:12]:
        found = sorosim.sensitivities(robot, [scalar])
        make = changed(name, scalar, found.values[0])
        unit = max(abs(found.values[0]), 1e-2)

        def accelerations(x, make=make, unit=unit):
            other = make(x * unit)
            forward = other.forward_dynamics(q, qd, u=u, driven_qdd={})
            hybrid = other.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=known)
            return np.concatenate([forward, hybrid.qdd, hybrid.tau])

        numeric = best_slope(accelerations, [3e-2, 1e-2, 3e-3, 1e-3], order=4) / unit
        hybrid = found.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=known)
        exact = found.forward_dynamics(q, qd, u=u, driven_qdd={}), hybrid.qdd, hybrid.tau
        base = np.split(accelerations(0.0), 3)
        for one, other, size in zip(exact, np.split(numeric, 3), base, strict=True):
            # stiff rods: accelerations are right to 1e-11 or so, and differences over a thousandth show no more
            lost = 1e-11 * np.abs(size).max() / (1e-3 * unit)
            assert np.abs(one[:, 0] - other).max() <= 3e-5 * np.abs(other).max() + lost, scalar


EQUILIBRIA = {
    "cable_manipulator": ({"cable1": 0.5, "cable4": 0.3}, ("gravity[2]", "links.arm.rod.length",
                          "links.arm.rod.section.circle.radius[0]", "materials.silicone.young")),
    "hybrid_parallel": (None, ("parameters.height", "parameters.thickness", "links.plate.at.rotation.angle")),
    "fin_ray": (None, ("parameters.width", "parameters.wall.length", "gravity[1]")),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "fin_ray")) for n in EQUILIBRIA])
def test_equilibria_against_differences(name):
    robot = sorosim.load(name)
    u, scalars = EQUILIBRIA[name]
    eq = sorosim.statics(robot, u=u)
    found = sorosim.sensitivities(robot, scalars)
    exact = found.equilibrium(eq)
    for i, scalar in enumerate(scalars):
        unit, make = max(abs(found.values[i]), 0.1), changed(name, scalar, found.values[i])

        def rest(x, make=make, unit=unit):
            other = sorosim.statics(make(x * unit), u=u, q0=eq.q)
            return np.concatenate([other.q, other.lam, list(other.driven.values())])

        numeric = best_slope(rest, [1e-2, 3e-3, 1e-3], order=4) / unit
        parts = exact.q[:, i], exact.lam[:, i], np.array([one[i] for one in exact.driven.values()])
        # the loops of the fin ray, some of them redundant, are closed to 1e-12 m, which its thin ribs make 1e-11 in q
        tolerance = 3e-5 if name == "fin_ray" else 2e-6
        assert relative_error(np.concatenate(parts[:1]), numeric[: robot.ndof]) < tolerance, scalar
        assert relative_error(np.concatenate(parts[1:]), numeric[robot.ndof :]) < tolerance, scalar


def test_places_move_with_lengths_and_poses():
    source = FILES / "robot.yaml"
    robot = sorosim.load(source)
    q = state_of(robot)[0]
    for scalar in ("links.arm.rod.length", "links.tool.at.position[0]"):
        if scalar not in sorosim.scalars(robot):
            continue
        found = sorosim.sensitivities(robot, [scalar])
        make = changed(source, scalar, found.values[0])
        for link, s in (("arm", 0.37), ("arm", 1.0), ("tool", 1.0)):
            g = robot.pose(q, link, s=s)
            change = slope(lambda x, make=make, link=link, s=s: make(x).pose(q, link, s=s), 1e-4, order=6)
            W = g[:3, :3].T @ change[:3, :3]
            twist = np.concatenate([[W[2, 1], W[0, 2], W[1, 0]], g[:3, :3].T @ change[:3, 3]])
            assert found.jacobian(q, link, s=s)[:, 0] == pytest.approx(twist, abs=1e-10)


def test_forces_are_homogeneous_in_densities_and_moduli():
    # exact: inverse dynamics is proportional to all masses, the internal force to moduli and viscosities
    robot = sorosim.load("cable_manipulator")
    q, qd, qdd, _ = state_of(robot)
    names = ["materials.silicone.density", "materials.silicone.young", "materials.silicone.damping"]
    found = sorosim.sensitivities(robot, names)
    by_density = found.inverse_dynamics(q, qd, qdd=qdd)
    assert relative_error(by_density[:, 0] * found.values[0], robot.inverse_dynamics(q, qd, qdd=qdd)) < 1e-13
    assert not by_density[:, 1:].any()
    internal = found.internal_force(q, qd)
    assert relative_error(internal[:, 1:] @ found.values[1:], robot.internal_force(q, qd)) < 1e-13


FORMULAS = """
sorosim: 1
parameters: {r: 8 mm, thin: "$r/2", route: "0.7*$r", pull: 2}
materials: {rubber: {young: 1 MPa, poisson: 0.45, density: 1100, damping: 1 kPa*s}}
links:
  arm:
    joint: fixed
    rod:
      length: 20 cm
      section: {circle: {radius: "$r - ($r - $thin)*s^2"}}
      material: rubber
      strain: {bending: 3, elongation: 1, torsion: 1}
  tip:
    parent: arm
    joint: fixed
    at: {position: ["2*$r", 0, 0]}
    body: {mass: "0.5*$pull", inertia: [1e-3, 1e-3, 1e-3]}
actuators:
  cable: {tendon: {rod: arm, y: "$route*(1 - 0.4*s)", z: "0.1*r"}}
loads:
  weight: {wrench: {link: tip, force: [0, 0, "-$pull*3"]}}
"""


@pytest.mark.parametrize("scalar", ["parameters.r", "parameters.pull"])
def test_parameters_inside_formulas(tmp_path, scalar):
    file = tmp_path / "arm.yaml"
    file.write_text(FORMULAS)
    robot = sorosim.load(file)
    q, qd, qdd, u = state_of(robot)
    u = u + 1.0
    found = sorosim.sensitivities(robot, scalar)
    make, unit = changed(file, scalar, found.values[0]), found.values[0]

    def forces(x):
        other = make(x * unit)
        return np.concatenate([other.inverse_dynamics(q, qd, qdd=qdd), other.internal_force(q, qd, u=u)])

    numeric = slope(forces, 1e-2, order=8) / unit
    exact = np.concatenate([found.inverse_dynamics(q, qd, qdd=qdd)[:, 0], found.internal_force(q, qd, u=u)[:, 0]])
    for one, other in zip(np.split(exact, 2), np.split(numeric, 2), strict=True):
        assert relative_error(one, other) < 1e-9


def test_contacts_follow_what_moves():
    """Three soft fingers hold a ball: contacts between rods and a body, each on up to three nodes."""
    robot = sorosim.load("gripper_grasps_sphere")
    run = sorosim.simulate(robot, t_end=4.0, dt_out=4.0)
    q, qd, qdd = run.q[-1], run.qd[-1], state_of(robot)[2]
    assert robot.contacts(q, qd).n >= 3
    for scalar in ("parameters.seat.position[0]", "links.ball.at.position[2]", "links.ball.body.mass"):
        found = sorosim.sensitivities(robot, scalar)
        make, unit = changed("gripper_grasps_sphere", scalar, found.values[0]), max(abs(found.values[0]), 1e-2)
        numeric = best_slope(
            lambda x, make=make, unit=unit: make(x * unit).inverse_dynamics(q, qd, qdd=qdd), [1e-5, 3e-6, 1e-6], order=4
        )
        assert relative_error(found.inverse_dynamics(q, qd, qdd=qdd)[:, 0], numeric / unit) < 1e-8, scalar


ZEROS = """
sorosim: 1
parameters: {n: 2, place: 0.7}
materials: {rubber: {young: 1 MPa, poisson: 0.45, density: "$n*(550 kg/m^3)", damping: 1 kPa*s, mass_damping: 0}}
links:
  base:
    joint: {revolute: {axis: [0, 1, 0], friction: 0}}
    body: {mass: 1, centre: [0.1, 0, 0], inertia: [1e-3, 1e-3, 1e-3]}
  arm:
    parent: base
    rod:
      divisions:
        - {length: 10 cm, section: {rectangle: {y: 8 mm, z: 16 mm}}, material: rubber, strain: {bending: 2}}
        - {length: 20 cm, section: {circle: {radius: 8 mm}}, material: rubber, strain: {bending: 3, elongation: 1}}
  tip: {parent: arm, at: {s: $place}, body: {mass: 0.1, inertia: [1e-4, 1e-4, 1e-4]}}
actuators:
  cable: {tendon: {rod: arm, y: 0, z: 5 mm, friction: 0}}
  knee: {servo: {link: base, stiffness: 2, damping: 0.1, limit: 1e-3}}
"""


@pytest.fixture
def with_zeros(tmp_path):
    file = tmp_path / "zeros.yaml"
    file.write_text(ZEROS)
    return file


@pytest.mark.parametrize(
    "scalar", ["materials.rubber.mass_damping", "links.base.joint.revolute.friction", "actuators.cable.tendon.friction"]
)
def test_scalars_that_are_zero_have_one_sided_derivatives(with_zeros, scalar):
    robot = sorosim.load(with_zeros)
    q, qd, qdd, _ = state_of(robot)
    u = np.array([1.0, 0.1])

    def forces(x):
        other = sorosim.load(with_zeros, set={scalar: x})
        return other.inverse_dynamics(q, qd, qdd=qdd) - other.internal_force(q, qd, u=u)

    h = 1e-4
    one_sided = (-11.0 * forces(0.0) + 18.0 * forces(h) - 9.0 * forces(2.0 * h) + 2.0 * forces(3.0 * h)) / (6.0 * h)
    found = sorosim.sensitivities(robot, scalar)
    exact = found.inverse_dynamics(q, qd, qdd=qdd) - found.internal_force(q, qd, u=u)
    assert np.abs(one_sided).max() > 1e-4
    assert relative_error(exact[:, 0], one_sided) < 1e-7
    assert np.isfinite(found.internal_force(q, np.zeros(robot.ndof), u=u)).all()  # friction at rest


@pytest.mark.parametrize("scalar", ["parameters.place", "parameters.n", "links.arm.rod.divisions[0].length"])
def test_places_in_another_division_and_units_beside_parameters(with_zeros, scalar):
    robot = sorosim.load(with_zeros)
    q, qd, qdd, u = state_of(robot)  # the servo asks for a thousand times what it may give: no NaN
    found = sorosim.sensitivities(robot, scalar)
    make = changed(with_zeros, scalar, found.values[0])
    numeric = slope(lambda x: make(x).inverse_dynamics(q, qd, qdd=qdd), 1e-3 * found.values[0], order=4)
    assert relative_error(found.inverse_dynamics(q, qd, qdd=qdd)[:, 0], numeric) < 1e-8
    u[1] = 2.0
    assert np.isfinite(found.internal_force(q, qd, u=u)).all()


def test_names_of_a_user_may_be_words_of_the_format(tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text("""
sorosim: 1
parameters: {strain: 2, values: 3}
links:
  s: {joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: $strain, inertia: [2, 2, $values], centre: [0.1, 0, 0]}}
""")
    names = sorosim.scalars(sorosim.load(file))
    assert {"parameters.strain", "parameters.values", "links.s.body.centre[0]"} <= set(names)


def test_copies_and_nothing_at_all():
    robot = sorosim.load("pendulum")
    q = np.array([0.3])
    found = sorosim.sensitivities(robot, list(sorosim.scalars(robot))[:2])
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.inverse_dynamics(q, q, qdd=q), found.inverse_dynamics(q, q, qdd=q))
    none = sorosim.sensitivities(robot, [])
    assert none.jacobian(q, robot.outputs.places[0][0]).shape == (6, 0)
    assert none.hybrid_dynamics(q, q, qdd=q, tau=q, known=[]).qdd.shape == (1, 0)
    for wrong in ("pendulum", None):
        with pytest.raises(InputError, match="expected a Robot"):
            sorosim.scalars(wrong)
    with pytest.raises(InputError, match="names: expected paths"):
        sorosim.sensitivities(robot, 3)
    with pytest.raises(InputError, match="eq: expected an equilibrium"):
        found.equilibrium(None)


def test_paths_that_lead_nowhere():
    robot = sorosim.load("cable_manipulator")
    with pytest.raises(
        InputError, match=r"path of a number.*got 'links.arm.rod.lenght'; did you mean links.arm.rod.length"
    ):
        sorosim.sensitivities(robot, ["links.arm.rod.lenght"])
    with pytest.raises(InputError, match="path of a number"):
        sorosim.sensitivities(robot, ["links.arm.rod.quadrature"])
    assert sorosim.sensitivities(robot, ["links.arm.rod.section.circle.radius.1"]).values == pytest.approx([0.015])


def test_what_is_refused(tmp_path):
    touching = sorosim.load("contact_cylinder")
    with pytest.raises(InputError, match=r"changes no surface that touches, got 'links.arm.rod.length'"):
        sorosim.sensitivities(touching, ["links.arm.rod.length"])
    robot, other = sorosim.load("pendulum"), sorosim.load("cable_manipulator")
    with pytest.raises(InputError, match="equilibrium of 'cable-driven manipulator'"):
        sorosim.sensitivities(other, "gravity[0]").equilibrium(sorosim.statics(robot))
    with pytest.raises(InputError, match="no signal of time"):
        sorosim.sensitivities(sorosim.load(FILES / "loads.yaml"), "loads.sea.fluid.current[0]")


def test_complex_numbers_stay_refused_elsewhere():
    sorosim.sensitivities(sorosim.load("pendulum"), list(sorosim.scalars(sorosim.load("pendulum")))[:1])
    assert not is_varying()
    with pytest.raises(ModelError, match="a pressure or modulus"):
        Material(1e6 + 1j, poisson=0.3, density=1.0)


def test_a_robot_of_objects_is_known_by_the_file_that_it_would_write():
    robot = sorosim.load("cable_manipulator").with_loads(push=Wrench("arm", force=(0, 0, -0.5)))
    (name,) = [name for name in sorosim.scalars(robot) if name.startswith("loads.push") and name.endswith("[2]")]
    q, qd, qdd, _ = state_of(robot)
    found = sorosim.sensitivities(robot, name).inverse_dynamics(q, qd, qdd=qdd)[:, 0]
    bare = sorosim.load("cable_manipulator").inverse_dynamics(q, qd, qdd=qdd)
    assert found * -0.5 == pytest.approx(robot.inverse_dynamics(q, qd, qdd=qdd) - bare, abs=1e-15)


def test_an_equilibrium_that_nothing_holds_in_place_has_no_derivatives():
    snake = sorosim.load("snake_on_plane")
    eq = sorosim.statics(snake)
    for of in (sorosim.sensitivities(snake, ["materials.rubber.young"]).equilibrium, equilibrium_by_inputs):
        with pytest.raises(
            sorosim.InputError, match=r"equilibrium that is isolated.* whose tangent stiffness is singular"
        ):
            of(eq)


@pytest.mark.parametrize("name", ["gripper_grasps_sphere", "finray_grasp"])
def test_a_neutral_equilibrium_has_no_derivatives(name):
    """Its message says that others are nearby; what a solver made of a singular tangent was 538 and more."""
    robot = sorosim.load(name)
    eq = sorosim.statics(robot)
    assert "neutral" in eq.message
    with pytest.raises(InputError, match="an equilibrium that is isolated"):
        sorosim.sensitivities(robot, "gravity[0]").equilibrium(eq)
    u = np.zeros((0, len(robot.actuator_names)))
    with pytest.raises(InputError, match="an equilibrium that is isolated"):
        sorosim.rollout(robot, u, "1 ms", "equilibrium", numbers=["gravity[0]"]).jvp(numbers=[1.0])


FORMULA_OF_PLACE = """
sorosim: 1
parameters: {slope: 2, curve: "2*s"}
materials: {m: {young: 1e6, poisson: 0.4, density: 1000, damping: 1 kPa*s}}
links:
  arm:
    rod:
      length: 0.3
      section: {circle: {radius: 0.01}}
      material: m
      strain: {bending: 2}
      reference: {bending_y: "2*s", bending_z: "$slope*s"}
  other:
    rod:
      length: 0.3
      section: {circle: {radius: 0.01}}
      material: m
      strain: {bending: 2}
      reference: {bending_y: $curve}
loads:
  wind: {line: {rod: arm, force: [0, 0, "0.3*s"]}}
"""


def test_formulas_are_no_numbers(tmp_path):
    """2*s along a rod is no 2 seconds: of what would that be the derivative?"""
    file = tmp_path / "formulas.yaml"
    file.write_text(FORMULA_OF_PLACE)
    robot = sorosim.load(file)
    formulas = {"links.arm.rod.reference.bending_y", "loads.wind.line.force[2]", "parameters.curve"}
    names = set(sorosim.scalars(robot))
    assert not formulas & names
    assert {"parameters.slope", "materials.m.damping"} <= names
    for name in formulas:
        with pytest.raises(InputError, match="a formula of s"):
            sorosim.sensitivities(robot, name)
    q = state_of(robot)[0]
    by = sorosim.sensitivities(robot, "parameters.slope").inverse_dynamics(q, 0.0 * q, qdd=0.0 * q)[:, 0]
    numeric = slope(lambda x: changed(file, "parameters.slope", 2.0)(x).inverse_dynamics(q, 0.0 * q, qdd=0.0 * q), 1e-2)
    assert relative_error(by, numeric) < 1e-9


def test_entries_of_rotation_matrices_count_as_their_nearest_rotation(tmp_path):
    """Both ways from the file project: real numbers, and those that carry a derivative."""
    file = tmp_path / "matrix.yaml"
    R = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    q = np.array([0.3])
    for rounded in (R, R + 3e-5 * np.random.default_rng(0).standard_normal((3, 3))):
        file.write_text(f"""
sorosim: 1
links:
  a:
    at: {{position: [0, 0, 1], rotation: {{matrix: {rounded.tolist()}}}}}
    joint: {{revolute: {{axis: [0, 0, 1]}}}}
    body: {{mass: 1, centre: [1, 0, 0], inertia: [1, 1, 1]}}
""")
        robot = sorosim.load(file)
        for i, j in np.ndindex(3, 3):
            name = f"links.a.at.rotation.matrix[{i}][{j}]"
            found, make = sorosim.sensitivities(robot, name), changed(file, name, float(rounded[i, j]))
            change = slope(lambda x, make=make: make(x).pose(q, "a"), 2e-5, order=4)
            W = robot.pose(q, "a")[:3, :3].T @ change[:3, :3]
            assert found.jacobian(q, "a")[:3, 0] == pytest.approx([W[2, 1], W[0, 2], W[1, 0]], abs=1e-9)
            torque = slope(lambda x, make=make: make(x).inverse_dynamics(q, q, qdd=q), 2e-5, order=4)
            assert found.inverse_dynamics(q, q, qdd=q)[:, 0] == pytest.approx(torque, abs=1e-8)


def chain_on_a_pin(length, stiffness):
    """Four bars on weak springs whose end is pinned to the world."""
    links = {}
    for i in range(4):
        links[f"l{i}"] = {
            "joint": {"revolute": {"axis": [0, 1, 0], "stiffness": stiffness * (1 + i), "rest": 0.2 + 0.1 * i}},
            "body": {"mass": "1 kg", "centre": [0, 0, "-20 cm"], "inertia": [1e-2, 1e-2, 1e-2]},
        }
        if i:
            links[f"l{i}"] |= {"parent": f"l{i - 1}", "at": {"position": [0, 0, -0.4 if i < 3 else -length]}}
    pin = {"joint": {"revolute": {"axis": [0, 1, 0]}}, "from": {"link": "l3", "at": {"position": [0, 0, -0.4]}},
           "to": {"at": {"position": [0.5, 0, -0.9]}}}  # fmt: skip
    return sorosim.load({"sorosim": 1, "name": "chain", "links": links, "loops": {"pin": pin}})


@pytest.mark.parametrize("stiffness", [1e-2, 1e2])
def test_coordinates_follow_loops_that_a_number_opens_as_assembly_closes_them(stiffness):
    """Also where inertia weighs more than soft springs: both have the same metric."""
    robot, h = chain_on_a_pin(0.4, stiffness), 1e-4
    q = sorosim.assemble(robot, q0=[0.9, -0.6, -0.7, 0.3]).q
    by = sorosim.sensitivities(robot, ["links.l3.at.position[2]"])
    found = closed_coordinates(by, q, np.arange(robot.ndof))[:, 0]
    ends = [sorosim.assemble(chain_on_a_pin(0.4 + step, stiffness), q0=q).q for step in (-h, h)]
    assert relative_error(found, (ends[0] - ends[1]) / (2.0 * h)) < 1e-5
