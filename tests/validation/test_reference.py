"""The engine against numbers of the original toolbox at two states of the cable manipulator (tests/data/reference)."""

import numpy as np
import pytest
from helpers.differences import Worst, relative_error
from helpers.reference import reference
from helpers.robots import cable_manipulator

from sorosim.mechanics.engine import tasks as task
from sorosim.mechanics.lie import ad

TIGHT = 1e-10
# M has a condition number of 4e6 and is inverted on both sides
ACCELERATION = 1e-8


@pytest.fixture(scope="module")
def robot():
    return cable_manipulator()


@pytest.fixture(scope="module", params=[1, 2])
def state(request):
    stored = reference(f"state{request.param}")
    # a pulled cable has a negative input there; the first point of every stack is the fixed base joint
    return {"q": stored["q"], "qd": stored["qd"], "qdd": stored["qdd"], "u": -stored["u"], "stored": stored}


WORST = Worst()


@pytest.fixture(scope="module", autouse=True)
def _report():
    yield
    print(WORST.table("against the toolbox"))


def check(agrees, named, tolerance=TIGHT, bound=""):
    for name, (ours, theirs) in named.items():
        WORST.note(name, relative_error(ours, theirs))
        agrees(f"cable manipulator: {name}", ours, theirs, rtol=tolerance, source="MATLAB toolbox SoRoSim",
               bound=bound)  # fmt: skip


def test_the_robot_is_the_one_of_the_reference(agrees, robot):
    stored, rest, none = reference("system"), np.zeros(24), np.zeros(5)
    layout = robot.engine.layout.links["arm"]
    division = layout.link.rod.divisions[0]
    elastic = robot.internal_force_derivatives(rest, rest, u=none)
    gauss = stored["Ws"] > 0
    X = 0.5 * stored["Xs"]
    check(
        agrees,
        {
            "points": (layout.X, X),
            "weights": (layout.weight, stored["Ws"]),
            "basis": (division.basis(X[gauss]).transpose(0, 2, 1), stored["Phi_at_Xs"][gauss]),
            "inertia": (division.line_inertia(X)[:, None] * np.eye(6), stored["Ms_at_Xs"]),
            "stiffness": (division.line_stiffness(X)[:, None] * np.eye(6), stored["Es_at_Xs"]),
            "damping": (division.line_damping(X)[:, None] * np.eye(6), stored["Gs_at_Xs"]),
            "K": (-elastic.dtau_dq, stored["K"]),
            "D": (-elastic.dtau_dqd, stored["D"]),
        },
    )


def test_kinematics(agrees, robot, state):
    stored = state["stored"]
    ours = robot.kinematics(state["q"], state["qd"])
    # what the toolbox calls the rate of the body Jacobian is dJ/dt + ad_eta J (docs/theory.md, 3)
    true_rate = stored["Jd_toolbox"] - np.stack([ad(eta) for eta in stored["eta"]]) @ stored["J"]
    check(
        agrees,
        {
            "g": (ours.g, stored["g"][1:]),
            "J": (ours.J, stored["J"][1:]),
            "eta": (ours.eta, stored["eta"][1:]),
            "Jd": (ours.Jd, true_rate[1:]),
            "pose of the tip": (robot.pose(state["q"], "arm")[:3, 3], stored["tip_position"]),
            "jacobian of the tip": (robot.jacobian(state["q"], "arm"), stored["J"][-1]),
        },
    )
    # their own check of dJ/dt is a difference quotient of second order
    check(
        agrees, {"Jd by differences": (ours.Jd, stored["true_dJdt_by_central_difference"][1:])}, 2e-9, "its differences"
    )


def test_inverse_dynamics_and_its_derivatives(agrees, robot, state):
    stored, q, qd, qdd = state["stored"], state["q"], state["qd"], state["qdd"]
    ours = robot.inverse_dynamics_derivatives(q, qd, qdd=qdd)
    zero = np.zeros(24)
    check(
        agrees,
        {
            "tau": (ours.tau, stored["ID"]),
            "dtau_dq": (ours.dtau_dq, stored["dID_dq"]),
            "dtau_dqd": (ours.dtau_dqd, stored["dID_dqd"]),
            "mass_matrix": (ours.mass_matrix, stored["M"]),
            "tau alone": (robot.inverse_dynamics(q, qd, qdd=qdd), stored["ID"]),
            "mass_matrix alone": (robot.mass_matrix(q), stored["M"]),
            "gravity": (robot.inverse_dynamics(q, zero, qdd=zero), stored["ID_gravity_only"]),
            "Coriolis": (
                robot.inverse_dynamics(q, qd, qdd=zero) - robot.inverse_dynamics(q, zero, qdd=zero),
                stored["coriolis_vector"],
            ),
        },
    )


def test_internal_force_and_its_derivatives(agrees, robot, state):
    stored, q, qd, u = state["stored"], state["q"], state["qd"], state["u"]
    ours = robot.internal_force_derivatives(q, qd, u=u)
    without = robot.internal_force_derivatives(q, qd)
    check(
        agrees,
        {
            "tau": (ours.tau, stored["tau"]),
            "dtau_dq": (ours.dtau_dq, stored["dtau_dq"]),
            "dtau_dqd": (ours.dtau_dqd, stored["dtau_dqd"]),
            "B": (ours.B, -stored["B"]),
            "d(Bu)/dq": (ours.dtau_dq - without.dtau_dq, stored["dBu_dq"]),
            "tau alone": (robot.internal_force(q, qd, u=u), stored["tau"]),
        },
    )


def test_static_residual_and_its_jacobian(agrees, robot, state):
    stored, q, u, zero = state["stored"], state["q"], state["u"], np.zeros(24)
    ours = robot.engine.evaluate(task.RESIDUAL_DERIVATIVES, q, zero, zero.copy(), u)
    alone = robot.engine.evaluate(task.RESIDUAL, q, zero, zero.copy(), u)
    # theirs is internal force - inverse dynamics
    check(
        agrees,
        {
            "residual": (-ours.tau, stored["static_residual"]),
            "residual alone": (-alone.tau, stored["static_residual"]),
            "jacobian": (-ours.by_q, stored["static_residual_jacobian"]),
            "B": (ours.B, -stored["B"]),
        },
    )


def test_forward_dynamics_and_its_derivatives(agrees, robot, state):
    stored, q, qd, u = state["stored"], state["q"], state["qd"], state["u"]
    ours = robot.forward_dynamics_derivatives(q, qd, u=u)
    check(
        agrees,
        {
            "qdd": (ours.qdd, stored["FD_qdd"]),
            "dqdd_dq": (ours.dqdd_dq, stored["dFD_dq"]),
            "dqdd_dqd": (ours.dqdd_dqd, stored["dFD_dqd"]),
            "dqdd_du": (ours.dqdd_du, -np.linalg.solve(stored["M"], stored["B"])),
            "qdd alone": (robot.forward_dynamics(q, qd, u=u), stored["FD_qdd"]),
        },
        ACCELERATION,
    )


def test_inputs_may_be_named(agrees, robot, state):
    named = dict(zip(robot.actuator_names, state["u"], strict=True))
    check(agrees, {"tau": (robot.internal_force(state["q"], state["qd"], u=named), state["stored"]["tau"])})
