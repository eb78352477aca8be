"""The door of the robot: what it refuses and in which words, what it gives back, and that it may be shared."""

import copy
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.differences import jacobian, relative_error
from helpers.python_load import OwnLoad
from helpers.robots import cable_manipulator, moderate, random_state, varied_tree
from numpy.testing import assert_array_equal

import sorosim
from sorosim.base.errors import InputError, ModelError, PlugInError, SorosimError
from sorosim.base.validation import number
from sorosim.mechanics.lie.so3 import skew
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.basis import Strain
from sorosim.mechanics.model.body import RigidBody
from sorosim.mechanics.model.description import Description
from sorosim.mechanics.model.joints import Joint
from sorosim.mechanics.model.link import Link
from sorosim.mechanics.model.material import Material
from sorosim.mechanics.model.rod import Division, Rod
from sorosim.mechanics.model.section import Circle
from sorosim.mechanics.robot import Robot

N = 9
ZERO = np.zeros(N)
RUBBER = Material(1e6, poisson=0.5, density=1000.0)


@pytest.fixture(scope="module")
def arm():
    return cable_manipulator(orders=(1, 1, 0, 0))


# every public method that takes numbers: name -> call with its vectors, in order
VECTORS = {
    "coordinates": (lambda r, q: r.coordinates(q), ("q",)),
    "kinematics": (lambda r, q, qd: r.kinematics(q, qd), ("q", "qd")),
    "pose": (lambda r, q: r.pose(q, "arm"), ("q",)),
    "poses": (lambda r, q: r.poses(q, "arm", s=[0.5]), ("q",)),
    "jacobian": (lambda r, q: r.jacobian(q, "arm"), ("q",)),
    "loop_gaps": (lambda r, q: r.loop_gaps(q), ("q",)),
    "loop_rows": (lambda r, *x: r.loop_rows(*x), ("q", "qd")),
    "mass_matrix": (lambda r, q: r.mass_matrix(q), ("q",)),
    "solve_mass": (lambda r, q: r.solve_mass(q, ZERO), ("q",)),
    "inverse_dynamics": (lambda r, q, qd, qdd: r.inverse_dynamics(q, qd, qdd=qdd), ("q", "qd", "qdd")),
    "inverse_dynamics_derivatives": (
        lambda r, q, qd, qdd: r.inverse_dynamics_derivatives(q, qd, qdd=qdd),
        ("q", "qd", "qdd"),
    ),
    "internal_force": (lambda r, *x: r.internal_force(*x), ("q", "qd")),
    "internal_force_derivatives": (lambda r, *x: r.internal_force_derivatives(*x), ("q", "qd")),
    "forward_dynamics": (lambda r, *x: r.forward_dynamics(*x), ("q", "qd")),
    "forward_dynamics_derivatives": (lambda r, *x: r.forward_dynamics_derivatives(*x), ("q", "qd")),
    "forward_dynamics_jvp": (
        lambda r, q, qd, dq, dqd: r.forward_dynamics_jvp(q, qd, dq=dq, dqd=dqd),
        ("q", "qd", "dq", "dqd"),
    ),
    "forward_dynamics_vjp": (lambda r, q, qd, w: r.forward_dynamics_vjp(q, qd, qdd_bar=w), ("q", "qd", "qdd_bar")),
    "hybrid_dynamics": (
        lambda r, q, qd, qdd, tau: r.hybrid_dynamics(q, qd, qdd=qdd, tau=tau, known=[1]),
        ("q", "qd", "qdd", "tau"),
    ),
    "hybrid_dynamics_derivatives": (
        lambda r, q, qd, qdd, tau: r.hybrid_dynamics_derivatives(q, qd, qdd=qdd, tau=tau, known=[1]),
        ("q", "qd", "qdd", "tau"),
    ),
    "energy": (lambda r, *x: r.energy(*x), ("q", "qd")),
    "tendon_lengths": (lambda r, q: r.tendon_lengths(q), ("q",)),
    "linearize": (lambda r, q: r.linearize(q), ("q",)),
    "measure": (lambda r, q, qd, qdd: r.measure(q, qd, qdd=qdd), ("q", "qd", "qdd")),
}
INPUTS = {
    "inputs": lambda r, u: r.inputs(u),
    "internal_force": lambda r, u: r.internal_force(ZERO, ZERO, u=u),
    "internal_force_derivatives": lambda r, u: r.internal_force_derivatives(ZERO, ZERO, u=u),
    "forward_dynamics": lambda r, u: r.forward_dynamics(ZERO, ZERO, u=u),
    "forward_dynamics_derivatives": lambda r, u: r.forward_dynamics_derivatives(ZERO, ZERO, u=u),
    "linearize": lambda r, u: r.linearize(ZERO, u),
    "measure": lambda r, u: r.measure(ZERO, None, u=u),
}
TIMES = {
    "inverse_dynamics": lambda r, t: r.inverse_dynamics(ZERO, ZERO, qdd=ZERO, t=t),
    "inverse_dynamics_derivatives": lambda r, t: r.inverse_dynamics_derivatives(ZERO, ZERO, qdd=ZERO, t=t),
    "internal_force": lambda r, t: r.internal_force(ZERO, ZERO, u=None, t=t),
    "internal_force_derivatives": lambda r, t: r.internal_force_derivatives(ZERO, ZERO, u=None, t=t),
    "forward_dynamics": lambda r, t: r.forward_dynamics(ZERO, ZERO, u=None, t=t),
    "forward_dynamics_derivatives": lambda r, t: r.forward_dynamics_derivatives(ZERO, ZERO, u=None, t=t),
    "hybrid_dynamics": lambda r, t: r.hybrid_dynamics(ZERO, ZERO, qdd=ZERO, tau=ZERO, known=[], t=t),
    "hybrid_dynamics_derivatives": lambda r, t: r.hybrid_dynamics_derivatives(
        ZERO, ZERO, qdd=ZERO, tau=ZERO, known=[], t=t
    ),
    "measure": lambda r, t: r.measure(ZERO, t=t),
}
PLACES = {
    "pose": lambda r, link, s: r.pose(ZERO, link, s=s),
    "poses": lambda r, link, s: r.poses(ZERO, link, s=[s]),
    "jacobian": lambda r, link, s: r.jacobian(ZERO, link, s=s),
}

WRONG = {
    "short": np.zeros(N - 1),
    "long": [0.0] * (N + 1),
    "two-dimensional": np.zeros((1, N)),
    "scalar": 0.0,
    "NaN": np.where(np.arange(N) == 4, np.nan, 0.0),
    "infinite": np.where(np.arange(N) == 4, -np.inf, 0.0),
    "text": "abc",
    "None in the list": [0.0] * (N - 1) + [None],
    "unknown names": {"arm.torsion[9]": 1.0},
    "wrong units": {"arm.torsion[0]": "1 kg"},
    "complex numbers": [1j] * N,
    "ragged": [[0.0], [0.0, 1.0]],
    "objects": [object()] * N,
    "generator": (x for x in range(N)),
    "type": np.ndarray,
}


def test_the_list_of_methods_is_complete():
    public = {name for name in dir(Robot) if not name.startswith("_") and callable(getattr(Robot, name))}
    assert public == {
        "summary",
        "to_yaml",
        "with_values",
        "with_loads",
        "with_sensors",
        "joint_wrench",
        "driven_units",
        "contacts",
        "contact_gaps",
        "onset",
        "release",
        "strain",
        "centre_of_mass",
        "centre_of_mass_jacobian",
        *VECTORS,
        *INPUTS,
        *TIMES,
        *PLACES,
    }


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("method", VECTORS)
def test_wrong_vectors_are_refused(arm, method, kind):
    call, names = VECTORS[method]
    for i, name in enumerate(names):
        state = [ZERO] * len(names)
        state[i] = WRONG[kind]
        with pytest.raises(InputError) as caught:
            call(arm, *state)
        assert caught.value.where in (name, f"{name}.arm.torsion[0]")
        expected = (
            "9 numbers",
            "9 numbers, shape (9,)",
            "finite numbers",
            "an angle",
            "an angular",
            "the name of a link",
        )
        assert caught.value.expected.startswith(expected)


@pytest.mark.parametrize(
    "method", [m for m in VECTORS if m not in ("kinematics", "loop_rows", "measure", "forward_dynamics_jvp")]
)
def test_none_is_no_vector(arm, method):
    call, names = VECTORS[method]
    with pytest.raises(InputError, match=f"^{names[-1]}: "):
        call(arm, *[ZERO] * (len(names) - 1), None)


@pytest.mark.parametrize("method", INPUTS)
@pytest.mark.parametrize(
    "wrong",
    [np.zeros(4), np.zeros((5, 1)), 1.0, [np.nan] * 5, [np.inf] * 5, "cable1", {"cable9": 1.0}, {"cable1": np.nan},
     {"cable1": "10 mm"}, ["1 N", 2.0, 3.0], {"cable1": [1.0, 2.0]}, {"cable1": None}, {1: 1.0}, lambda t: t],
)  # fmt: skip
def test_wrong_inputs_are_refused(arm, method, wrong):
    with pytest.raises(InputError, match=r"^u(\.cable1)?: "):
        INPUTS[method](arm, wrong)


@pytest.mark.parametrize("method", TIMES)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, None, "now", [0.0], 1j])
def test_wrong_times_are_refused(arm, method, wrong):
    with pytest.raises(InputError, match=r"^t: "):
        TIMES[method](arm, wrong)


@pytest.mark.parametrize("method", PLACES)
@pytest.mark.parametrize(
    ("link", "s", "where"),
    [("amr", 1.0, "link"), ("world", 1.0, "link"), (3, 1.0, "link"), (None, 1.0, "link"), ("arm", 1.01, "s"),
     ("arm", -0.01, "s"), ("arm", np.nan, "s"), ("arm", np.inf, "s"), ("arm", None, "s")],
)  # fmt: skip
def test_wrong_places_are_refused(arm, method, link, s, where):
    with pytest.raises(InputError, match=f"^{where}: "):
        PLACES[method](arm, link, s)


MESSAGES = [
    (lambda r: r.mass_matrix(np.zeros(8)), "q: expected 9 numbers, shape (9,), got shape (8,)"),
    (lambda r: r.mass_matrix(np.zeros((9, 1))), "q: expected 9 numbers, shape (9,), got shape (9, 1)"),
    (lambda r: r.mass_matrix("abc"), "q: expected 9 numbers, got str 'abc'"),
    (lambda r: r.kinematics(ZERO, [0.0]), "qd: expected 9 numbers, shape (9,), got shape (1,)"),
    (lambda r: r.energy(ZERO, WRONG["NaN"]), "qd: expected finite numbers, got nan at index 4"),
    (
        lambda r: r.inverse_dynamics(ZERO, ZERO, qdd=WRONG["infinite"]),
        "qdd: expected finite numbers, got -inf at index 4",
    ),
    (lambda r: r.inverse_dynamics(ZERO, ZERO, qdd=ZERO, t=np.nan), "t: expected a time, got nan; it has to be finite"),
    (lambda r: r.internal_force(ZERO, ZERO, u=[1.0]), "u: expected 5 numbers, shape (5,), got shape (1,)"),
    (
        lambda r: r.internal_force(ZERO, ZERO, u={"cabel1": 1.0}),
        "u: expected the name of an actuator, got 'cabel1'; did you mean cable1 or cable5 or cable4?",
    ),
    (lambda r: r.inputs({"cable2": np.inf}), "u.cable2: expected a force, got inf; it has to be finite"),
    (lambda r: r.pose(ZERO, "amr"), "link: expected the name of a link, got 'amr'; did you mean arm?"),
    (lambda r: r.jacobian(ZERO, "tentacle"), "link: expected the name of a link, got 'tentacle'; known: arm"),
    (lambda r: r.pose(ZERO, "arm", s=1.5), "s: expected a fraction of the rod's length from 0 to 1, got 1.5"),
    (lambda r: Robot("arm.yaml"), "Robot: expected a Description, got str; sorosim.load reads files and dicts"),
]


@pytest.mark.parametrize(("call", "message"), MESSAGES, ids=[message[:30] for _, message in MESSAGES])
def test_messages_say_what_was_expected_and_what_came(arm, call, message):
    with pytest.raises(InputError) as caught:
        call(arm)
    assert str(caught.value) == message
    assert isinstance(caught.value, SorosimError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, "1 N", None, [1.0], {}, lambda t: t])
def test_wrong_numbers_are_refused(wrong):
    with pytest.raises(InputError, match=r"^simulate\.x: "):
        number("simulate.x", wrong)
    assert number("simulate.x", np.int64(3)) == 3.0


# stranger things, which numpy itself would take or answer with an error of its own
LEAKS = {
    "an array of complex numbers": lambda r: r.mass_matrix(ZERO + 1j),
    "a text among numbers": lambda r: r.mass_matrix(["x"] + [0.0] * (N - 1)),
    "dates": lambda r: r.mass_matrix(np.zeros(N, "datetime64[s]")),
    "integers beyond floats": lambda r: r.mass_matrix([10**400] * N),
    "a list as a link": lambda r: r.pose(ZERO, ["arm"]),
    "a text among places": lambda r: r.poses(ZERO, "arm", s=[0.5, "tip"]),
    "a number as a load": lambda r: r.with_loads(weight=3.0),
}


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("kind", LEAKS)
def test_stranger_things_are_refused(arm, kind):
    with pytest.raises((InputError, ModelError)):
        LEAKS[kind](arm)


def test_lists_and_integers_are_vectors(arm):
    np.testing.assert_array_equal(arm.mass_matrix([0] * N), arm.mass_matrix(ZERO))
    np.testing.assert_array_equal(arm.mass_matrix(ZERO.astype(np.float32)), arm.mass_matrix(ZERO))
    q = np.arange(2.0 * N)[::2] / N
    np.testing.assert_array_equal(arm.mass_matrix(q), arm.mass_matrix(q.tolist()))


def test_numbers_that_mechanics_would_make_infinite_are_refused(arm):
    np.testing.assert_array_equal(arm.coordinates([1e50] * N), [1e50] * N)
    with pytest.raises(InputError, match=r"^q: expected finite numbers up to 1e\+50, got 1\.7e\+308 at index 0$"):
        arm.coordinates([1.7e308] * N)
    pendulum, huge, zero = sorosim.load("heavy_top"), [1e308] * 3, [0.0] * 3
    for work in (
        lambda: pendulum.inverse_dynamics(zero, huge, qdd=zero),
        lambda: pendulum.forward_dynamics(zero, huge),
        lambda: pendulum.mass_matrix(huge),
        lambda: pendulum.energy(zero, huge),
        lambda: pendulum.jacobian(huge, "top"),
        lambda: sorosim.simulate(pendulum, 0.01, qd0=huge),
        lambda: sorosim.statics(arm, u=[1e308] * 5),
        lambda: sorosim.load("four_bar", set={"gravity[2]": 1e308}),
    ):
        with pytest.raises(sorosim.SorosimError, match=r"1e\+308"):
            work()


def test_inputs_are_taken_by_name_or_in_order(arm):
    np.testing.assert_array_equal(arm.inputs(None), np.zeros(5))
    np.testing.assert_array_equal(arm.inputs({"cable4": 4, "cable1": np.float32(1)}), [1, 0, 0, 4, 0])
    np.testing.assert_array_equal(arm.inputs([1, 2, 3, 4, 5]), [1.0, 2.0, 3.0, 4.0, 5.0])
    by_name = arm.forward_dynamics(ZERO, ZERO, u={"cable2": 3.0})
    np.testing.assert_array_equal(by_name, arm.forward_dynamics(ZERO, ZERO, u=[0, 3, 0, 0, 0]))


# -- what it is


def test_names_and_counts(arm):
    assert (arm.name, arm.ndof, arm.n_points) == ("cable manipulator", 9, 7)
    assert arm.coordinate_names == (
        "arm.torsion[0]", "arm.torsion[1]", "arm.bending_y[0]", "arm.bending_y[1]", "arm.bending_z[0]",
        "arm.bending_z[1]", "arm.elongation[0]", "arm.shear_y[0]", "arm.shear_z[0]",
    )  # fmt: skip
    assert arm.actuator_names == ("cable1", "cable2", "cable3", "cable4", "cable5")
    assert [link.name for link in arm.links] == ["arm"]
    assert repr(arm) == "<Robot 'cable manipulator': 9 coordinates, 1 links, 5 actuators>"
    assert sorosim.Robot is Robot


def small_tree():
    body = RigidBody(1.0, inertia=(0.01, 0.01, 0.01))
    rod = Rod((Division(0.4, Circle(0.01), RUBBER, Strain(bending_y=("legendre", 1)), quadrature=3),))
    links = (
        Link("hand", body, parent="finger", joint=Joint("revolute")),
        Link("finger", rod, parent="frame"),
        Link("frame", None, joint=Joint("prismatic", axis=(0, 0, 1))),
        Link("side", body, parent="finger", s=0.25, joint=Joint("helical", pitch=0.01)),
    )
    return Robot(Description("hand and finger", links, initial={"frame.prismatic": 0.5, "finger.bending_y[1]": -1.0}))


def test_summary_has_one_line_a_link():
    assert small_tree().summary() == "\n".join(
        [
            "hand and finger: 5 coordinates, 7 points, 0 actuators",
            "  frame: prismatic on world, frame, 1 coordinate",
            "  finger: fixed on frame, rod 0.4 m, 3 Gauss points, 2 coordinates",
            "  hand: revolute on finger, rigid body, 1 coordinate",
            "  side: helical on finger at s = 0.25, rigid body, 1 coordinate",
        ]
    )


def test_initial_coordinates_come_by_name():
    np.testing.assert_array_equal(small_tree().initial_q, [0.5, 0.0, -1.0, 0.0, 0.0])
    with pytest.raises(ModelError, match=re.escape("initial.frame.prismatik: expected the name of a coordinate")):
        Robot(Description("x", small_tree().links, initial={"frame.prismatik": 1.0}))
    with pytest.raises(ModelError, match=re.escape("initial.frame.prismatic: expected a finite number, got nan")):
        Robot(Description("x", small_tree().links, initial={"frame.prismatic": np.nan}))


def test_actuators_that_are_none_are_refused():
    with pytest.raises(ModelError, match=re.escape("actuators.pull: expected an actuator, got float without unit")):
        Robot(Description("x", small_tree().links, actuators={"pull": 1.0}))


def test_points_are_gauss_points_ends_and_bodies():
    robot = small_tree()
    g = robot.kinematics(robot.initial_q).g
    # finger: 3 Gauss points and 2 ends, not the place of "side"; the frame is no body
    assert len(g) == 5 + 1 + 1
    np.testing.assert_array_equal(g[0], robot.pose(robot.initial_q, "finger", s=0.0))
    np.testing.assert_array_equal(g[4], robot.pose(robot.initial_q, "finger", s=1.0))
    np.testing.assert_array_equal(g[5], robot.pose(robot.initial_q, "hand"))
    np.testing.assert_array_equal(g[6], robot.pose(robot.initial_q, "side", s=0.3))


def test_a_massless_coordinate_is_named():
    robot = Robot(Description("x", (Link("ghost", None, joint=Joint("revolute")),)))
    with pytest.raises(ModelError, match=re.escape("ghost.revolute: expected a coordinate that moves mass")):
        robot.forward_dynamics([0.0], [0.0])
    with pytest.raises(ModelError):
        robot.linearize([0.0])
    assert robot.mass_matrix([0.0]) == 0.0


# -- loads


def test_with_loads_gives_another_robot(arm):
    push = Wrench("arm", 0.6, force=(1.0, 2.0, 3.0))
    pushed = arm.with_loads(push=push)
    assert pushed is not arm
    assert arm.description.loads == {}
    assert pushed.description.loads == {"push": push}
    assert pushed.coordinate_names == arm.coordinate_names
    assert pushed.n_points == arm.n_points
    # virtual work of a force at a point that is no point of the robot's own
    q = 0.3 * moderate(arm)
    g, J = pushed.pose(q, "arm", s=0.6), pushed.jacobian(q, "arm", s=0.6)
    force = np.concatenate([np.zeros(3), g[:3, :3].T @ [1.0, 2.0, 3.0]])
    unloaded = arm.with_loads(push=Wrench("arm", 0.6, moment=((0.0,) * 6)[:3], force=((0.0,) * 6)[3:]))
    change = unloaded.inverse_dynamics(q, ZERO, qdd=ZERO) - pushed.inverse_dynamics(q, ZERO, qdd=ZERO)
    np.testing.assert_allclose(change, J.T @ force, atol=1e-14)
    # the same name takes its place, another one is added
    assert list(pushed.with_loads(push=push, pull=push).description.loads) == ["push", "pull"]


def test_a_load_on_an_unknown_link_is_refused(arm):
    with pytest.raises(ModelError) as caught:
        arm.with_loads(push=Wrench("amr", moment=((0.0,) * 6)[:3], force=((0.0,) * 6)[3:]))
    assert str(caught.value) == "loads.push: expected the name of a link, got 'amr'; did you mean arm?"


@dataclass(frozen=True)
class SpringAndDrag:
    """A plug-in of a user: a spring to the world's origin that stiffens in time, and quadratic drag."""

    link: str

    @property
    def places(self):
        return ((self.link, 0.4),)

    def bind(self, layout):
        return BoundSpringAndDrag(np.array([layout.link(self.link).node_at(0.4)]))


@dataclass(frozen=True)
class BoundSpringAndDrag:
    nodes: np.ndarray
    dissipates = False

    def evaluate(self, t, g, eta):
        k, p, v = 20.0 * (1.0 + t), g[0, :3, :3].T @ g[0, :3, 3], eta[0, 3:]
        speed = np.linalg.norm(v)
        f, K, D = np.zeros((1, 6)), np.zeros((1, 6, 6)), np.zeros((1, 6, 6))
        f[0, 3:] = -k * p - 3.0 * speed * v
        K[0, 3:, :3], K[0, 3:, 3:] = -k * skew(p), -k * np.eye(3)
        D[0, 3:, 3:] = -3.0 * (speed * np.eye(3) + np.outer(v, v) / speed)
        return LoadValues(f, K, D)


def test_a_load_of_ones_own_enters_all_dynamics(arm, rng):
    robot = arm.with_loads(own=SpringAndDrag("arm"))
    q, qd, qdd, u = random_state(rng, robot)
    size, t = moderate(robot), 0.7
    ours = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd, t=t)
    by_q = jacobian(lambda x: robot.inverse_dynamics(x, qd, qdd=qdd, t=t), q, (0.1, 0.05), 8, size)
    by_qd = jacobian(lambda x: robot.inverse_dynamics(q, x, qdd=qdd, t=t), qd, (0.1, 0.05), 8, size)
    assert relative_error(ours.dtau_dq, by_q) < 1e-10
    assert relative_error(ours.dtau_dqd, by_qd) < 1e-10
    qdd = robot.forward_dynamics(q, qd, u=u, t=t)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd=qdd, t=t), robot.internal_force(q, qd, u=u), atol=1e-9)
    assert (
        np.abs(robot.inverse_dynamics(q, qd, qdd=qdd, t=0.0) - robot.inverse_dynamics(q, qd, qdd=qdd, t=t)).max() > 1e-3
    )


# -- what it gives back


# linear motions about any state have their bits too
AT_ANY_STATE = pytest.mark.filterwarnings("ignore:linearize. q is no equilibrium:sorosim.base.errors.SorosimWarning")


def everything(robot, q, qd, qdd, u):
    """All results of all methods, as arrays."""
    link = robot.links[-1].name
    results = [
        *robot.kinematics(q, qd),
        robot.pose(q, link, s=0.37),
        robot.poses(q, link, s=[0.2, 0.9]),
        robot.jacobian(q, link, s=0.37),
        robot.mass_matrix(q),
        robot.inverse_dynamics(q, qd, qdd=qdd),
        *robot.inverse_dynamics_derivatives(q, qd, qdd=qdd),
        robot.internal_force(q, qd, u=u),
        *robot.internal_force_derivatives(q, qd, u=u),
        robot.forward_dynamics(q, qd, u=u),
        *robot.forward_dynamics_derivatives(q, qd, u=u),
        *(getattr(robot.linearize(q, u), name) for name in ("A", "B", "eigenvalues", "frequencies", "modes")),
    ]
    return [*results, np.array(robot.energy(q, qd)), np.array(list(robot.tendon_lengths(q).values()))]


def identical(results, others):
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(results, others, strict=True))


@pytest.fixture(scope="module", params=[1, 2, 7])
def tree(request):
    return varied_tree(request.param)


@AT_ANY_STATE
def test_results_do_not_depend_on_what_was_asked_before(tree, rng):
    moving, other = random_state(rng, tree), random_state(rng, tree)
    resting = (other[0], 0.0 * other[1], 0.0 * other[2], other[3])
    fresh = [everything(Robot(tree.description), *state) for state in (moving, resting)]
    everything(tree, *other)
    assert identical(everything(tree, *resting), fresh[1])
    assert identical(everything(tree, *moving), fresh[0])
    assert identical(everything(tree, *resting), fresh[1])


@AT_ANY_STATE
def test_results_are_fresh_arrays(tree, rng):
    state = random_state(rng, tree)
    before = [x.copy() for x in state]
    first = everything(tree, *state)
    second = everything(tree, *state)
    engine = tree.engine
    kept = [*engine.workspace, *engine.tree, *engine.elastic[:3], *engine.elastic.laws, *engine.rod_actuators, *state]
    kept.append(engine.gravity)
    for array in first:
        assert array.flags.writeable
        assert not any(np.shares_memory(array, other) for other in [*kept, *second] if other.size)
    for array in first:
        array[...] = 7.0
    assert identical(everything(tree, *state), second)
    assert identical(state, before)


@AT_ANY_STATE
def test_threads_give_the_bits_of_one(tree, rng):
    states = [random_state(rng, tree) for _ in range(16)]
    one_by_one = [everything(tree, *state) for state in states]
    shared = Robot(tree.description)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            together = list(pool.map(lambda state: everything(shared, *state), states))
            assert all(identical(a, b) for a, b in zip(together, one_by_one, strict=True))


# -- nothing that moves


@pytest.fixture(scope="module")
def statue():
    rod = Rod((Division(0.5, Circle(0.02), RUBBER, Strain()),))
    top = Link("top", RigidBody(1.0, inertia=(1, 1, 1)), parent="pole")
    return Robot(Description("statue", (Link("pole", rod), top)))


def test_a_robot_without_coordinates_works(statue):
    q = np.zeros(0)
    assert (statue.ndof, statue.n_points, statue.coordinate_names) == (0, 8, ())
    state = statue.kinematics(q, q)
    assert [x.shape for x in state] == [(8, 4, 4), (8, 6), (8, 6, 0), (8, 6, 0)]
    np.testing.assert_allclose(statue.pose(q, "pole", s=0.3)[:3, 3], [0.15, 0, 0], atol=1e-16)
    np.testing.assert_allclose(statue.pose(q, "top")[:3, 3], [0.5, 0, 0], atol=1e-16)
    assert statue.jacobian(q, "pole", s=0.3).shape == (6, 0)
    assert statue.mass_matrix(q).shape == (0, 0)
    assert statue.inverse_dynamics(q, q, qdd=q).shape == (0,)
    assert statue.forward_dynamics(q, q).shape == (0,)
    assert [x.shape for x in statue.inverse_dynamics_derivatives(q, q, qdd=q)] == [(0,), (0, 0), (0, 0), (0, 0)]
    assert [x.shape for x in statue.internal_force_derivatives(q, q)] == [(0,), (0, 0), (0, 0), (0, 0)]
    assert [x.shape for x in statue.forward_dynamics_derivatives(q, q)] == [(0,), (0, 0), (0, 0), (0, 0)]
    assert statue.energy(q, q).kinetic == 0.0
    assert statue.tendon_lengths(q) == {}
    assert statue.linearize(q).eigenvalues.shape == (0,)
    assert statue.summary().startswith("statue: 0 coordinates, 8 points, 0 actuators")
    with pytest.raises(InputError, match=re.escape("q: expected 0 numbers, shape (0,), got shape (1,)")):
        statue.mass_matrix([0.0])


def test_copies_and_pickles_are_the_same_robot(arm, rng):
    q, qd, _, u = random_state(rng, arm)
    for other in (copy.deepcopy(arm), pickle.loads(pickle.dumps(arm))):
        assert repr(other.description) == repr(arm.description)
        assert_array_equal(other.forward_dynamics(q, qd, u=u), arm.forward_dynamics(q, qd, u=u))


def test_a_stiff_rod_is_stable():
    """The rounding of eigenvalues is relative to the largest one, and no bound on the smallest."""
    steel = Material(200e9, poisson=0.5, density=1000.0)
    basis = Strain(bending=4, torsion=2, elongation=1)
    rod = Rod(Division(length=0.5, section=Circle(0.001), material=steel, strain=basis))
    robot = Robot(Description("needle", (Link("arm", rod),)))
    assert sorosim.statics(robot).stable


def test_a_robot_under_further_loads_has_no_text_that_knows_nothing_of_them():
    robot = sorosim.load("cable_manipulator")
    assert robot.description.text
    assert not robot.with_loads(tip=Wrench("arm", 1.0, force=(0, 0, 0.5))).description.text


ONES = LoadValues(np.ones((1, 6)), np.ones((1, 6, 6)), np.ones((1, 6, 6)))


@pytest.mark.parametrize(
    ("load", "kind", "message"),
    [
        (OwnLoad(None), PlugInError, "loads.own: expected LoadValues(wrench, K, D), got nothing"),
        (
            OwnLoad(ONES._replace(wrench=np.ones(6))),
            PlugInError,
            "loads.own.wrench: expected shape (1, 6), got shape (6,)",
        ),
        (
            OwnLoad(ONES._replace(K=np.ones((0, 6, 6)))),
            PlugInError,
            "loads.own.K: expected shape (1, 6, 6), got shape (0, 6, 6)",
        ),
        (OwnLoad(ONES._replace(D="x")), PlugInError, "loads.own.D: expected an array of shape (1, 6, 6), got 'x'"),
        (
            OwnLoad(ONES._replace(D=np.full((1, 6, 6), np.nan))),
            ModelError,
            "loads.own.D: expected finite numbers, got NaN or inf",
        ),
        (OwnLoad(ONES, nodes=np.array([99])), ModelError, "loads.own.nodes: expected an array of indices of nodes"),
        (OwnLoad(ONES, nodes=[3]), ModelError, "loads.own.nodes: expected an array of indices of nodes"),
        (OwnLoad(ONES, places=("arm",)), ModelError, "loads.own.places: expected pairs (link, s), got 'arm'"),
        (
            OwnLoad(ONES, places=(("arm", 2.0),)),
            ModelError,
            "loads.own.places: expected a place s from 0 to 1, got 2.0",
        ),
        (
            OwnLoad(ONES, places=(("arn", 1.0),)),
            ModelError,
            "loads.own: expected the name of a link, got 'arn'; did you mean arm",
        ),
    ],
)
def test_a_load_that_breaks_its_contract_is_named(arm, load, kind, message):
    with pytest.raises(kind) as caught:
        arm.with_loads(own=load).inverse_dynamics(ZERO, ZERO, qdd=ZERO)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(message)


@AT_ANY_STATE
@pytest.mark.parametrize("free", [[99], [-1], "abc", [1.7], [1, 1], [True, False], 3])
def test_free_coordinates_are_indices_or_a_mask(arm, free):
    with pytest.raises(InputError, match=r"^free: expected different indices from 0 to 8, or a mask of 9, got "):
        arm.linearize(ZERO, free=free)
    mask = np.zeros(9, dtype=bool)
    mask[[2, 5]] = True
    assert_array_equal(arm.linearize(ZERO, free=mask).A, arm.linearize(ZERO, free=[2, 5]).A)
