"""Loads by their value: the same as the compiled ones; derivatives follow, and only where they are asked for."""

from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np
import pytest
from helpers.limbs import limbs
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline

import sorosim
from sorosim.base.duals import Dual
from sorosim.base.errors import ModelError, PlugInError
from sorosim.mechanics.lie import exp_se3
from sorosim.mechanics.loads.base import DeclaredLoad, LoadLaw, LoadValues
from sorosim.mechanics.loads.line_load import LineLoad
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor
from sorosim.testing import check_load

FRAME = exp_se3(np.array([0.3, -0.2, 0.4, 0.02, 0.01, -0.03]))
ANCHOR, NEAR = (0.1, 0.2, 0.9), (0.4, 0.2, 0.1)


def world(place):
    """An anchor at a place of the world."""
    return Anchor(at=exp_se3(np.array([0.0, 0.0, 0.0, *place])))


@dataclass(frozen=True)
class Tie(LoadLaw):
    """A spring of rest length 0.2 m by its energy."""

    link: str = "arm"
    s: float = 1.0
    stiffness: float = 20.0
    anchor: tuple = ANCHOR

    def energy(self, t, g):
        return 0.5 * self.stiffness * (np.linalg.norm(g[:, :3, 3] - self.anchor, axis=1) - 0.2) ** 2


@dataclass(frozen=True)
class Pull(Tie):
    """The same spring by its force."""

    def wrench(self, t, g, eta):
        away = self.anchor - g[:, :3, 3]
        length = np.linalg.norm(away, axis=1, keepdims=True)
        return 0.0, np.einsum("nji,nj->ni", g[:, :3, :3], self.stiffness * (1.0 - 0.2 / length) * away)


@dataclass(frozen=True)
class Between(Tie):
    """The same spring between the tip of the arm and the leg."""

    others: ClassVar = (("leg", 1.0),)
    anchor: tuple = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Along(LoadLaw):
    """A force per length of the world, less and less towards the tip, and drag."""

    rod: str = "arm"
    force: tuple = (0.3, -0.2, 1.0)
    drag: float = 0.0

    def wrench(self, t, g, eta, points):
        force = (np.array(self.force) * (1.0 - points.s[:, None]))[:, None, :] @ g[:, :3, :3]
        return 0.0, force[:, 0] - self.drag * np.linalg.norm(eta[:, 3:], axis=1, keepdims=True) * eta[:, 3:]


@dataclass(frozen=True)
class Push(LoadLaw):
    """A force of the world at a frame on the ball, and a moment of the ball."""

    link: str = "ball"
    frames: ClassVar = FRAME

    def wrench(self, t, g, eta):
        return (0.1, 0.2, -0.3), np.array([2.0, -1.0, 3.0]) @ g[:, :3, :3]


LINE = ("(0.3)*(1 - s)", "(-0.2)*(1 - s)", "1 - s")
SPRING = {"stiffness": 20.0, "rest": 0.2}
PAIRS = {
    "energy": (Tie(), Spring(Anchor("arm"), world(ANCHOR), **SPRING)),
    "force": (Pull(), Spring(Anchor("arm"), world(ANCHOR), **SPRING)),
    "between": (Between(), Spring(Anchor("arm"), Anchor("leg"), **SPRING)),
    "along": (Along(), LineLoad("arm", force=LINE)),
    "frame": (Push(), None),
}


@pytest.fixture(scope="module")
def robot():
    return limbs()


@pytest.fixture(scope="module")
def states(robot):
    rng = np.random.default_rng(2)
    return [0.2 * rng.normal(size=(3, robot.ndof)) for _ in range(2)]


@pytest.mark.parametrize(("own", "built_in"), PAIRS.values(), ids=PAIRS.keys())
def test_a_load_by_its_value_is_the_compiled_one_with_its_derivatives(robot, states, own, built_in):
    if built_in is None:
        built_in = Wrench(Anchor("ball", at=FRAME), force=(2.0, -1.0, 3.0))
        turning = Wrench(Anchor("ball", at=FRAME), moment=(0.1, 0.2, -0.3), frame="body")
        one, two = robot.with_loads(own=own), robot.with_loads(a=built_in, b=turning)
    else:
        one, two = robot.with_loads(own=own), robot.with_loads(a=built_in)
    for q, qd, qdd in states:
        found, expected = (
            one.inverse_dynamics_derivatives(q, qd, qdd=qdd),
            two.inverse_dynamics_derivatives(q, qd, qdd=qdd),
        )
        for a, b in zip(found, expected, strict=True):
            assert_allclose(a, b, atol=1e-11 * np.abs(b).max())
        assert_allclose(one.inverse_dynamics(q, qd, qdd=qdd), found.tau, atol=1e-12 * np.abs(found.tau).max())


@pytest.mark.parametrize("load", [Tie(), Pull(s=0.4), Between(), Along(drag=3.0), Push()])
def test_loads_by_their_value_keep_the_contract(robot, load):
    assert check_load(load, robot, n_states=2).worst < 1e-8


@dataclass(frozen=True)
class Everywhere(LoadLaw):
    """Drag at several points, with inertia that it takes along."""

    points: tuple = (("arm", 0.4), ("arm", 1.0), ("ball", 1.0))
    added_inertia: ClassVar = np.diag([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    dissipates: ClassVar = True

    def wrench(self, t, g, eta):
        speed = np.linalg.norm(eta[:, 3:], axis=1, keepdims=True)
        return np.concatenate([np.zeros((len(eta), 3)), -2.0 * speed * eta[:, 3:]], axis=1)


def test_a_load_may_have_several_points_and_inertia(robot):
    assert check_load(Everywhere(), robot, n_states=2, passive=True, invariant=True).worst < 1e-8
    q = np.zeros(robot.ndof)
    added = robot.with_loads(own=Everywhere()).mass_matrix(q) - robot.mass_matrix(q)
    # of the free body, whose first three coordinates are along its axes, in the pose in which all links are built

    assert_allclose(np.diag(added)[:3], [3.0, 6.0, 9.0], atol=1e-12)


def test_along_a_rod_the_wrench_and_the_inertia_are_per_length():
    @dataclass(frozen=True)
    class Heavy(LoadLaw):
        rod: str = "arm"
        added_inertia: ClassVar = np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])

        def wrench(self, t, g, eta):
            return np.zeros_like(eta)

    robot = limbs()
    q = np.zeros(robot.ndof)
    added = robot.with_loads(own=Heavy()).mass_matrix(q) - robot.mass_matrix(q)
    assert_allclose(np.diag(added)[:3], 0.5, rtol=1e-12)


class Spy(Pull):
    """Notes whether derivatives are asked for."""

    seen: ClassVar = []

    def wrench(self, t, g, eta):
        self.seen.append(isinstance(g, Dual))
        return super().wrench(t, g, eta)


def test_derivatives_are_worked_out_only_where_they_are_asked_for(robot, states):
    loaded, (q, qd, qdd) = robot.with_loads(own=Spy()), states[0]
    for ask, derive in (
        (loaded.inverse_dynamics, False),
        (loaded.forward_dynamics, False),
        (loaded.inverse_dynamics_derivatives, True),
        (loaded.forward_dynamics_derivatives, True),
    ):
        Spy.seen.clear()
        ask(q, qd, **({"qdd": qdd} if "inverse" in ask.__name__ else {}))
        assert any(Spy.seen) is derive
        assert Spy.seen


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha", "bdf"])
def test_motions_are_those_of_the_compiled_load(method):
    robot = sorosim.load("cable_manipulator")
    options = {"method": method, "rtol": 1e-7, "atol": 1e-9} if method == "bdf" else {"method": method, "step": 2e-3}
    runs = [
        sorosim.simulate(robot.with_loads(a=load), t_end=0.05, **options)
        for load in (Tie(anchor=NEAR), Spring(Anchor("arm"), world(NEAR), **SPRING))
    ]
    assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-7 * np.abs(runs[1].q[-1]).max())
    energy = [run.energy() for run in runs]
    assert_allclose(energy[0].work[-1], energy[1].work[-1], rtol=1e-4)


def test_steps_are_those_of_the_compiled_load():
    robot = sorosim.load("cable_manipulator")
    ends = []
    for load in (Tie(anchor=NEAR), Spring(Anchor("arm"), world(NEAR), **SPRING)):
        stepper = sorosim.Stepper(robot.with_loads(a=load), 5e-3)
        stepper.reset()
        for _ in range(5):
            state = stepper.step()
        ends.append(state.q)
    assert_allclose(ends[0], ends[1], atol=1e-9 * np.abs(ends[1]).max())


def test_statics_under_an_energy_is_at_its_least(robot):
    arm = sorosim.load("cable_manipulator").with_loads(own=Tie(anchor=NEAR))
    eq = sorosim.statics(arm)
    assert eq.stable
    K = -arm.inverse_dynamics_derivatives(eq.q, 0 * eq.q, qdd=0 * eq.q).dtau_dq
    assert_allclose(K, K.T, atol=1e-9 * np.abs(K).max())


# -- what is refused


def law(**members):
    return dataclass(frozen=True)(type("Own", (LoadLaw,), {"__annotations__": {"link": str}, **members}))("ball")


@numba.njit
def compiled(v):
    return -v


TABLE = CubicSpline([-5.0, 0.0, 5.0], [1.0, 0.0, 2.0])
REFUSED = {
    "nothing": (law(), ModelError, r"^loads.own: expected a method wrench or energy, got Own without them"),
    "no place": (Everywhere(()), ModelError, r"^loads.own: expected a load with link, rod, points or rods, got Every"),
    "shape": (law(wrench=lambda self, t, g, eta: eta[0]), PlugInError,
              r"^loads.own: expected a wrench \(n, 6\), or a moment and a force \(n, 3\), got shape \(6,\)"),
    "none": (law(wrench=lambda self, t, g, eta: None), PlugInError, r"^loads.own: expected a wrench .*, got nothing"),
    "energy": (law(energy=lambda self, t, g: g[:, 0]), PlugInError,
               r"^loads.own.energy: expected shape \(1,\), got shape \(1, 4\)"),
    "raises": (law(wrench=lambda self, t, g, eta: {}["wind"]), PlugInError,
               r"^loads.own: expected a wrench .*, got KeyError: 'wind'; look at .*Own.wrench$"),
    "infinite": (law(wrench=lambda self, t, g, eta: np.full((1, 6), np.inf)), ModelError,
                 r"^loads.own.wrench: expected finite numbers, got NaN or infinity at 'ball', t = 0 s"),
}  # fmt: skip


@pytest.mark.parametrize(("load", "kind", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_a_load_that_goes_wrong_is_one_error(robot, load, kind, message):
    zero = np.zeros(robot.ndof)
    for ask in ("inverse_dynamics", "inverse_dynamics_derivatives"):
        with pytest.raises(kind, match=message) as caught:
            getattr(robot.with_loads(own=load), ask)(zero, zero, qdd=zero)
        assert type(caught.value) is kind


def filled(self, t, g, eta):
    out = np.zeros((1, 6))
    out[:, 3:] = -eta[:, 3:]
    return out


NO_DERIVATIVES = {
    "room of plain numbers": filled,
    "compiled": lambda self, t, g, eta: (0.0, compiled(eta[:, 3:])),
    "a table": lambda self, t, g, eta: (0.0, -TABLE(eta[:, 3:])),
    "no rule": lambda self, t, g, eta: (0.0, np.cbrt(eta[:, 3:])),
}


@pytest.mark.parametrize("wrench", NO_DERIVATIVES.values(), ids=NO_DERIVATIVES.keys())
def test_a_value_that_carries_no_derivatives_has_its_value_and_is_refused_where_they_are_asked_for(robot, wrench):
    loaded, q, qd = robot.with_loads(own=law(wrench=wrench)), np.zeros(robot.ndof), np.ones(robot.ndof)
    assert np.any(loaded.inverse_dynamics(q, qd, qdd=q) - robot.inverse_dynamics(q, qd, qdd=q))
    with pytest.raises(PlugInError, match=r"^loads.own: expected functions of numpy that have derivatives, got .*tang"):
        loaded.inverse_dynamics_derivatives(q, qd, qdd=q)


def test_tangents_of_its_own_take_the_place_of_derivatives(robot):
    def tangents(self, t, g, eta):
        return np.zeros((1, 6, 6)), np.diag([0.0, 0.0, 0.0, -1.0, -1.0, -1.0])[None]

    own = law(wrench=NO_DERIVATIVES["compiled"], tangents=tangents)
    assert check_load(own, robot, n_states=2, passive=True, invariant=True).worst < 1e-8


def test_a_kind_by_its_value_is_read_and_written_as_others(monkeypatch, tmp_path):
    from sorosim.base.declare import Quantity, Reference, key
    from sorosim.base.registry import LOADS

    monkeypatch.setattr(LOADS, "_built_in", dict(LOADS.declared()))

    @dataclass(frozen=True)
    class Lift(LoadLaw, DeclaredLoad, kind="lift_of_test"):
        link: str = key(Reference("links", "the name of a link"), "Link.", "bob")
        force: float = key(Quantity("force"), "Force.", "1 N", kw_only=True)

        def energy(self, t, g):
            return -self.force * g[:, 2, 3]

    robot = sorosim.load({
        "sorosim": 1, "name": "lifted", "gravity": [0, 0, -10],
        "links": {"bob": {"joint": {"prismatic": {"axis": [0, 0, 1], "stiffness": 100}},
                          "body": {"sphere": {"radius": "1 cm"}, "mass": "1 kg"}}},
        "loads": {"lift": {"lift_of_test": {"link": "bob", "force": "4 N"}}},
    })  # fmt: skip
    assert sorosim.statics(robot).q[0] == pytest.approx(-0.06)
    (tmp_path / "again.yaml").write_text(sorosim.dump(robot))
    assert sorosim.load(tmp_path / "again.yaml").description.loads["lift"] == robot.description.loads["lift"]


class Old:
    """A load that finds its nodes and gives its derivatives itself, as loads once had to."""

    places = (("ball", 1.0),)
    dissipates = False

    def bind(self, layout):
        self.nodes = np.array([layout.link("ball").node_at(1.0)])
        return self

    def evaluate(self, t, g, eta):
        return LoadValues(-eta, np.zeros((1, 6, 6)), -np.eye(6)[None])


def test_a_load_that_gives_its_derivatives_itself_works_with_one_line_on_what_to_write(robot, states):
    new = law(wrench=lambda self, t, g, eta: -eta)
    with pytest.warns(DeprecationWarning, match=r"^loads.own: bind and evaluate .* let Old inherit sorosim.L") as said:
        old, _ = (robot.with_loads(own=Old()) for _ in range(2))
    assert [one.filename for one in said] == [__file__]
    q, qd, qdd = states[0]
    for a, b in zip(
        *(one.inverse_dynamics_derivatives(q, qd, qdd=qdd) for one in (old, robot.with_loads(own=new))), strict=True
    ):
        assert_allclose(a, b, atol=1e-12 * np.abs(b).max())


@dataclass(frozen=True)
class Drawn(LoadLaw):
    """Every point of a rod is drawn to the ball."""

    rod: str = "arm"
    others: ClassVar = (("ball", 1.0),)

    def energy(self, t, g):
        return 3.0 * np.sum(g[:, :3, 3] ** 2, axis=1)


def test_a_rod_may_be_seen_from_another_body(robot):
    assert check_load(Drawn(), robot, n_states=2, invariant=True).worst < 1e-8
    inner = robot.with_loads(own=Drawn())
    q = 0.1 * np.ones(robot.ndof)
    # inner forces do no work on a motion of the whole robot
    added = inner.inverse_dynamics(q, 0 * q, qdd=0 * q) - robot.inverse_dynamics(q, 0 * q, qdd=0 * q)
    assert np.abs(added).max() > 0.01
    assert_allclose(added[:6], 0.0, atol=1e-12)


@dataclass(frozen=True)
class Both:
    link: str = "arm"

    def wrench(self, t, g, eta):
        return 0.0, 0.0

    def energy(self, t, g):
        return g[:, 0, 3]


def test_a_wrench_beside_an_energy_and_a_misspelt_member_are_told(robot):
    class Law(Both, sorosim.LoadLaw):
        pass

    with pytest.raises(sorosim.ModelError, match="a method wrench or energy, got Law with both"):
        robot.with_loads(own=Law())

    class Misspelt(Push):
        other = (("leg", 1.0),)

    with pytest.warns(sorosim.base.errors.SorosimWarning, match=r"Misspelt\.other: .* is 'others' meant\?"):
        robot.with_loads(own=Misspelt())


def test_one_number_for_each_point_is_no_force(robot):
    class Summed(Push):
        def wrench(self, t, g, eta):
            return 0.0, np.sum(eta, axis=1, keepdims=True)

    loaded = robot.with_loads(own=Summed())
    with pytest.raises(sorosim.base.errors.PlugInError, match=r"a part of shape \(1, 1\)"):
        loaded.inverse_dynamics(np.zeros(loaded.ndof), np.zeros(loaded.ndof), qdd=np.zeros(loaded.ndof))
