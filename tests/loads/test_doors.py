"""What loads refuse, keep when they are changed, and how runs end that a load of a user spoils."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import ConvergenceError, ModelError
from sorosim.files import dump
from sorosim.mechanics.lie import exp_se3
from sorosim.mechanics.loads.base import LoadValues
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.loads.wrench import Wrench
from sorosim.mechanics.model.anchor import Anchor
from sorosim.mechanics.model.pose import AS_BUILT
from sorosim.mechanics.robot import Robot
from sorosim.studies.doctor import WRONG, examine

ROBOT = {
    "sorosim": 1,
    "name": "arm",
    "gravity": [0, 9.81, 0],
    "materials": {"rubber": {"young": "1 MPa", "poisson": 0.5, "density": 1000, "damping": 1000}},
    "links": {
        "arm": {
            "rod": {
                "length": "20 cm", "section": {"circle": {"radius": "1 cm"}}, "material": "rubber",
                "strain": {"bending": 1},
            }
        },
        "ball": {
            "parent": "arm", "body": {"sphere": {"radius": "2 cm"}, "density": 1000},
            "frames": {"nose": {"position": ["2 cm", 0, 0]}},
        },
    },
    "actuators": {"cord": {"tendon": {"rod": "arm", "y": 0, "z": "5 mm", "stiffness": "20 kN/m"}},
                  "air": {"chamber": {"rod": "arm", "y": "5 mm", "z": 0, "area": "1 cm^2"}}},
    "loads": {"rope": {"spring": {"from": "ball", "to": {"at": {"position": [0, 1, 0]}}, "stiffness": 30}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def robot():
    return sorosim.load(ROBOT)


def test_the_doctor_tries_inputs_of_their_own_size(robot):
    assert [finding for finding in examine(robot) if finding.level == WRONG] == []


def test_a_changed_description_has_no_text_of_another(robot, tmp_path):
    loads = {"rope": replace(robot.description.loads["rope"], stiffness=999.0)}
    changed = Robot(replace(robot.description, loads=loads))
    assert robot.description.text
    assert not changed.description.text
    sorosim.simulate(changed, 0.02).save(tmp_path / "run.h5")
    again = sorosim.open(tmp_path / "run.h5").robot
    assert again.description.loads["rope"].stiffness == 999.0


def test_a_changed_wrench_stays_at_its_point():
    at = exp_se3(np.array([0.1, 0.2, 0.3, 0.01, 0.0, 0.0]))
    load = Wrench(Anchor("ball", frame="nose", at=at), force=(0, 0, 1))
    again = replace(load, force=(0, 0, 2))
    assert again.anchor == load.anchor
    assert again.link == load.link
    half = Wrench("arm", 0.5, force=(0, 0, 1))
    assert replace(half, frame="body").anchor == Anchor("arm", s=0.5)
    assert half.link == "arm"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Wrench(Anchor("arm", s=0.2), 0.7, force=(0, 0, 0)),
         "wrench.s: expected a place s here or in the Anchor, one of them, got both"),
        (lambda: Wrench(Anchor("arm", at=AS_BUILT), force=(0, 0, 0)),
         "wrench.at: expected a pose, got 'as built'; only the end of a loop may be taken as built"),
        (lambda: Spring("arm", Anchor("ball", at=AS_BUILT), stiffness=1),
         "spring.b.at: expected a pose, got 'as built'; only the end of a loop may be taken as built"),
        (lambda: Wrench("arm", force=(0, 0, "1/t")),
         "wrench.force[2]: expected a signal that is finite at t = 0, got inf"),
        (lambda: Fluid(1.0, links=[["arm"]]), "fluid.links: expected names of links, got [['arm']]"),
        (lambda: Fluid(1.0, links={}), "fluid.links: expected at least one link, got none; leave links out for all of "
                                       "them"),
    ],
)  # fmt: skip
def test_what_no_load_can_be(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message


def test_a_current_may_have_a_pole_where_the_robot_is_not():
    vortex = Fluid(1000.0, current=("0.1*y/(x^2+y^2)", "-0.1*x/(x^2+y^2)", 0))
    assert vortex.is_field
    with pytest.raises(ModelError, match="a finite speed"):
        Fluid(1000.0, current=("log(-1 - x^2)", 0, 0))


def test_a_unit_vector_is_kept_to_the_bit(robot):
    tilted = robot.with_loads(water=Fluid(1000.0, up=(1.0, 0.2, 0.3), height=0.1, links=["arm"]))
    once = sorosim.files.load_text(dump(tilted), "once")
    assert once.description.loads["water"].up == tilted.description.loads["water"].up
    assert dump(once) == dump(tilted)


def test_springs_whose_ends_meet_have_neither_force_nor_stiffness(robot):
    # the tip of the arm is the origin of the ball; the other point is where that is built
    there = robot.pose(np.zeros(robot.ndof), "ball")
    meeting = robot.with_loads(rope=Spring("ball", Anchor("world", at=there), stiffness=5.0, rest=0.1))
    free = Robot(replace(robot.description, loads={}))
    q = np.zeros(robot.ndof)
    ours, theirs = (r.inverse_dynamics_derivatives(q, q, qdd=q) for r in (meeting, free))
    np.testing.assert_array_equal(ours.dtau_dq, theirs.dtau_dq)


@dataclass(frozen=True)
class Spoiled:
    """A load that fails from a time on."""

    how: str
    places = (("arm", 1.0),)

    def bind(self, layout):
        return BoundSpoiled(np.array([layout.link("arm").node_at(1.0)]), self.how)


@dataclass(frozen=True, eq=False)
class BoundSpoiled:
    nodes: np.ndarray
    how: str
    dissipates = False

    def evaluate(self, t, g, eta):
        if t > 0.05 and self.how == "raises":
            raise KeyError("no wind")
        return LoadValues(np.zeros((1, 6)), np.zeros((1, 6, 6)), np.zeros((1, 6, 6)))


@pytest.mark.parametrize("method", ["bdf", "radau", "cvode", "newmark", "generalized-alpha", "ida"])
def test_a_run_that_a_load_spoils_ends_there_and_hands_over_what_it_has(robot, method):
    spoiled = robot.with_loads(wind=Spoiled("raises"))
    with pytest.raises(
        ConvergenceError, match=r"loads.wind: expected LoadValues\(wrench, K, D\), got KeyError"
    ) as caught:
        sorosim.simulate(spoiled, 0.2, method=method)
    assert caught.value.partial.t[-1] <= 0.06


def test_an_absurd_load_ends_a_march_with_words(robot):
    absurd = robot.with_loads(push=Wrench("ball", force=(0, 0, "1e200*exp(100*t)")))
    with pytest.raises(ConvergenceError, match="stopped at t = "):
        sorosim.simulate(absurd, 0.1, method="newmark")
