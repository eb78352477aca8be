"""Newton's matrices of large systems against I - c J with the dense Jacobian, and runs that use them."""

import numpy as np
import pytest
from helpers.differences import Worst
from helpers.limbs import limbs, with_actuators
from numpy.testing import assert_allclose

import sorosim
from sorosim.analysis.equations.implicit_rates import ImplicitRates
from sorosim.analysis.equations.system import OdeSystem
from sorosim.mechanics.actuation.route import RouteSegment
from sorosim.mechanics.actuation.servo import Servo
from sorosim.mechanics.actuation.tendon import Tendon
from sorosim.mechanics.engine import engine
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.loads.fluid import Fluid
from sorosim.mechanics.loads.spring import Spring
from sorosim.mechanics.model.anchor import Anchor

WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("Newton's matrices along the tree against dense ones"))


@pytest.fixture(scope="module")
def robot():
    actuators = {"pull": Tendon(RouteSegment("arm", y=0.005, z=0.0)), "knee": Servo("leg", stiffness=1.0, damping=0.1)}
    loads = {
        "sea": Fluid(1000.0, current=(0.1, 0.0, "0.1*t")),
        "band": Spring(Anchor("arm"), Anchor("ball"), stiffness=20.0, damping=0.5, rest=0.05),
    }
    return with_actuators(limbs((0, 0, -9.81)), **actuators).with_loads(**loads)


@pytest.mark.parametrize("driven", [{}, {"leg": "0.5*t^2"}])
@pytest.mark.parametrize("c", [1e-1, 1e-4])
def test_solutions_are_those_of_the_dense_jacobian(rng, robot, driven, c):
    actuators = robot.description.actuators
    robot = with_actuators(robot, pull=actuators["pull"]) if driven else robot
    system = OdeSystem(robot, Prescribed.of(robot, np.full(len(robot.actuator_names), 0.5), driven))
    x, newton = 0.1 * rng.normal(size=2 * system.n_free), ImplicitRates(system)
    matrix = np.eye(len(x)) - c * system.jacobian(0.3, x)
    newton.linearise(0.3, x)
    assert newton.factor(c)
    exact = rng.normal(size=len(x))
    system.rhs(0.3, 0.5 * x)  # rates in other states do not matter
    error = np.abs(newton.solve(matrix @ exact) - exact).max() / np.linalg.cond(matrix)
    assert WORST.note(f"c = {c:g}, over the condition number", error) <= 5e-15


@pytest.mark.parametrize("method", ["bdf", "cvode"])
def test_runs_are_those_with_dense_matrices(monkeypatch, robot, method):
    runs = []
    for least in (0, 10**9):
        monkeypatch.setattr(engine, "ON_TREE", least)
        monkeypatch.setattr(engine, "ON_SPARSE", least)
        runs.append(sorosim.simulate(robot, t_end=0.02, dt_out=0.01, method=method, rtol=1e-8, atol=1e-10))
    assert_allclose(runs[0].q, runs[1].q, atol=1e-6 * np.abs(runs[1].q).max())
    assert runs[0].energy().balance == pytest.approx(runs[1].energy().balance, abs=1e-6)


def test_loops_and_tendons_of_given_length_keep_dense_matrices(monkeypatch, robot):
    monkeypatch.setattr(engine, "ON_SPARSE", 0)
    four_bar = sorosim.load("four_bar")
    wound = with_actuators(robot, wound=Tendon(RouteSegment("arm", y=0.005, z=0.0), stiffness=100.0))
    assert ImplicitRates.suits(OdeSystem(robot, Prescribed.of(robot, {}, {})))
    assert not ImplicitRates.suits(OdeSystem(wound, Prescribed.of(wound, {}, {})))
    assert not ImplicitRates.suits(OdeSystem(four_bar, Prescribed.of(four_bar, {}, {})))
