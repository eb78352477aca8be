"""Motions as differentiable functions of PyTorch."""

import importlib

import numpy as np
import pytest
from helpers.python_load import pull_along_x
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import ConvergenceError, FileError, InputError
from sorosim.base.registry import LOADS

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
differentiable = importlib.import_module("sorosim.torch")
rollout, step = differentiable.rollout, differentiable.step

pytestmark = pytest.mark.slow

YOUNG = "materials.silicone.young"
TIGHT = 1e-13


def leaf(value, dtype=torch.float64):
    return torch.tensor(np.asarray(value), dtype=dtype, requires_grad=True)


@pytest.fixture(scope="module")
def arm():
    return sorosim.load("cable_manipulator")


def inputs(rng, *shape):
    return np.abs(rng.standard_normal((*shape, 5)))


# -- derivatives: rates change by some hundred times the change of stiff coordinates


def gradcheck(function, *arguments):
    def scaled(*arguments):
        q, qd = function(*arguments)
        return q, 1e-2 * qd

    # central differences: curvature of stiff motions, and rounding of rates
    assert torch.autograd.gradcheck(scaled, arguments, eps=1e-5, atol=2e-6, rtol=1e-6)


def test_derivatives_of_a_pendulum_by_start_and_numbers():
    robot, u = sorosim.load("pendulum"), torch.zeros((6, 0), dtype=torch.float64)

    def motion(q0, qd0, mass, length):
        numbers = {"links.bob.body.mass": mass, "links.arm.body.cylinder.length": length}
        return rollout(robot, u, "20 ms", q0, qd0, numbers=numbers, tolerance=TIGHT)

    gradcheck(motion, leaf([0.3]), leaf([0.1]), leaf(1.0), leaf(0.5))


def test_derivatives_of_a_soft_arm(arm, rng):
    u, q0, qd0 = leaf(inputs(rng, 3)), leaf(0.01 * rng.standard_normal(24)), leaf(0.1 * rng.standard_normal(24))
    gradcheck(lambda *x: rollout(arm, x[0], 0.004, *x[1:], tolerance=TIGHT), u, q0, qd0)


def test_derivatives_of_a_soft_arm_by_a_modulus(arm, rng):
    u = torch.from_numpy(inputs(rng, 3))
    gradcheck(lambda young: rollout(arm, u, 0.004, numbers={YOUNG: 1e6 * young}, tolerance=TIGHT), leaf(1.2))


def test_derivatives_of_a_robot_with_loops(rng):
    robot = sorosim.load("soft_gripper_parallel")
    u = leaf(np.abs(rng.standard_normal((3, len(robot.actuator_names)))))
    gradcheck(lambda u: rollout(robot, u, 0.003, tolerance=TIGHT), u)


def test_derivatives_of_members_with_starts_and_numbers_of_their_own(arm, rng):
    u, q0 = leaf(inputs(rng, 2, 2)), leaf(0.01 * rng.standard_normal(24))

    def motion(u, q0, young):
        return rollout(arm, u, 0.004, q0, numbers={YOUNG: 1e6 * young}, tolerance=TIGHT)

    gradcheck(motion, u, q0, leaf([1.0, 1.5]))


def test_derivatives_of_a_chain_of_steps(arm, rng):
    def motion(u):
        q, qd = torch.zeros((2, 24), dtype=torch.float64)
        for k, one in enumerate(u):
            q, qd = step(arm, one, q, qd, 0.004, 0.004 * k, tolerance=TIGHT)
        return q, qd

    gradcheck(motion, leaf(inputs(rng, 3)))


# -- values


def test_motions_and_gradients_are_those_of_the_plain_rollout(arm, rng):
    u, q_bar = inputs(rng, 6), rng.standard_normal((7, 24))
    robot = arm.with_values({YOUNG: 1.2e6})
    plain = sorosim.rollout(robot, u, 0.01, "equilibrium", t0=0.5, numbers=[YOUNG], substeps=2)
    tensors = leaf(u), leaf(1.2e6)
    q, qd = rollout(arm, tensors[0], "10 ms", "equilibrium", None, 0.5, {YOUNG: tensors[1]}, substeps=2)
    assert_array_equal(q.detach(), plain.q)
    assert_array_equal(qd.detach(), plain.qd)
    (q * torch.from_numpy(q_bar)).sum().backward()
    by = plain.vjp(q_bar)
    assert_array_equal(tensors[0].grad, by.u)
    assert_array_equal(tensors[1].grad, by.numbers[0])


def test_numbers_that_are_only_set_are_not_differentiated(rng):
    robot, length = sorosim.load("contact_cylinder"), "links.arm.rod.length"  # surfaces that touch have no derivative
    u, young, value = leaf(np.ones((2, len(robot.actuator_names)))), leaf(1.1e6), sorosim.scalars(robot)[length]
    for same in (value, f"{value} m", torch.tensor(value, dtype=torch.float64)):
        q, _ = rollout(robot, u, 0.005, numbers={YOUNG: young, length: same})
        q.sum().backward()
    assert young.grad != 0.0


def test_members_are_motions_of_their_own(arm, rng):
    u, q_bar = leaf(inputs(rng, 2, 3, 4)), rng.standard_normal((2, 3, 5, 24))
    young = leaf(1e6 * (1.0 + rng.random((2, 3))))
    q, _ = rollout(arm, u, 0.01, np.zeros(24), numbers={YOUNG: young})
    assert q.shape == (2, 3, 5, 24)
    (q * torch.from_numpy(q_bar)).sum().backward()
    for i in np.ndindex(2, 3):
        robot = arm.with_values({YOUNG: young[i].item()})
        one = sorosim.rollout(robot, u[i].detach().numpy(), 0.01, np.zeros(24), numbers=[YOUNG])
        by = one.vjp(q_bar[i])
        assert_array_equal(q[i].detach(), one.q)
        assert_array_equal(u.grad[i], by.u)
        assert_array_equal(young.grad[i], by.numbers[0])


def test_a_start_that_members_share_has_the_sum_of_their_gradients(arm, rng):
    u, q0 = torch.from_numpy(inputs(rng, 2, 3)), leaf(np.zeros(24))
    rollout(arm, u, 0.01, q0)[0].sum().backward()
    alone = [sorosim.rollout(arm, one, 0.01, np.zeros(24)).vjp(np.ones((4, 24))).q0 for one in u.numpy()]
    assert_allclose(q0.grad, sum(alone), rtol=1e-14)


def test_single_precision_comes_back_as_it_went_in(arm, rng):
    u, q0, young = leaf(inputs(rng, 4), torch.float32), leaf(np.zeros(24)), leaf(1e6, torch.float32)
    q, qd = rollout(arm, u, 0.01, q0, numbers={YOUNG: young})
    assert q.dtype == qd.dtype == torch.float32
    q[-1].sum().backward()
    assert (u.grad.dtype, q0.grad.dtype, young.grad.dtype) == (torch.float32, torch.float64, torch.float32)
    plain = sorosim.rollout(arm, u.detach().double().numpy(), 0.01, np.zeros(24))
    bar = np.zeros((5, 24))
    bar[-1] = 1.0
    assert_array_equal(q.detach(), plain.q.astype(np.float32))
    assert_array_equal(u.grad, plain.vjp(bar).u.astype(np.float32))


def test_a_step_is_the_first_one_after_a_reset(arm, rng):
    sim, u, q0 = sorosim.Stepper(arm, 0.01, tolerance=1e-11), inputs(rng, 1)[0], 0.01 * rng.standard_normal(24)
    sim.reset(q0, np.zeros(24))
    q, qd = step(arm, torch.from_numpy(u), q0, np.zeros(24), 0.01)
    after = sim.step(u)
    assert_array_equal(q, after.q)
    assert_array_equal(qd, after.qd)
    assert step(arm, np.zeros((2, 3, 5)), q0, np.zeros(24), 0.01)[0].shape == (2, 3, 24)


def test_gradients_bring_the_tip_nearer_to_a_goal(arm):
    u = leaf(np.full((20, 5), 0.5))
    optimizer = torch.optim.Adam([u], lr=0.1)
    costs = []
    for _ in range(6):
        optimizer.zero_grad()
        q, _ = rollout(arm, u, "10 ms", np.zeros(24))
        cost = (q[-1, 0] + 0.2).square()
        cost.backward()
        optimizer.step()
        costs.append(cost.item())
    assert costs[-1] < 0.9 * costs[0]
    assert sorted(costs, reverse=True) == costs


def test_nothing_is_kept_where_no_gradient_is_wanted(arm):
    u = leaf(np.zeros((2, 5)))
    with torch.no_grad():
        assert not rollout(arm, u, 0.01)[0].requires_grad
    assert not rollout(arm, u.detach(), 0.01)[0].requires_grad


# -- what goes wrong


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: rollout(r, np.zeros((3, 2)), 0.01), InputError, "u: expected an array (N, 5) or (members, N, 5)"),
        (lambda r: rollout(r, np.zeros((0, 3, 5)), 0.01), InputError, "u: expected an array (N, 5) or (members, N, 5)"),
        (lambda r: rollout(r, "pull", 0.01), InputError, "u: expected a tensor, got 'pull'"),
        (lambda r: rollout(r, torch.zeros((3, 5), dtype=torch.complex64), 0.01), InputError, "u: expected a tensor of"),
        (lambda r: rollout(r, np.full((1, 5), np.nan), 0.01), InputError, "u[0].cable1: expected a finite number"),
        (lambda r: rollout(r, np.zeros((3, 5)), -1.0), InputError, "dt: expected a time greater than 0"),
        (lambda r: rollout(r, np.zeros((3, 5)), 0.01, np.zeros(3)), InputError, "q0: expected an array (24,), got one"),
        (lambda r: rollout(r, np.zeros((2, 3, 5)), 0.01, np.zeros((3, 24))), InputError, "(24,) or (2, 24), got one"),
        (lambda r: rollout(r, np.zeros((3, 5)), 0.01, [np.inf] * 24), InputError, "q0: expected finite numbers"),
        (lambda r: rollout(r, np.zeros((3, 5)), 0.01, "start"), InputError, "q0: expected"),
        (lambda r: rollout(r, np.zeros((3, 5)), 0.01, numbers=[YOUNG]), InputError, "numbers: expected a mapping"),
        (
            lambda r: rollout(r, np.zeros((3, 5)), 0.01, numbers={"materials.silicon.young": 1e6}),
            InputError, "numbers: expected the path of a number in the robot's file, got 'materials.silicon.young'; d",
        ),
        (lambda r: rollout(r, np.zeros((3, 5)), 0.01, numbers={YOUNG: [1e6]}), InputError, f"numbers.{YOUNG}: expect"),
        (lambda r: rollout(r, np.zeros((3, 5)), 0.01, numbers={YOUNG: "1 m"}), FileError, f"{YOUNG}: expected a press"),
        (lambda r: rollout(r, np.zeros((3, 5)), 0.01, numbers={YOUNG: np.nan}), FileError, f"{YOUNG}: expected a pres"),
        (lambda r: rollout(r, np.zeros((3, 5)), 0.01, method="bdf"), InputError, "method: expected"),
        (lambda r: rollout("arm", np.zeros((3, 5)), 0.01), InputError, "robot: expected a Robot"),
        (lambda r: rollout(r, np.full((2, 5), 1e9), 0.01), ConvergenceError, "Newton's method does not converge"),
        (lambda r: step(r, np.zeros(3), np.zeros(24), np.zeros(24), 0.01), InputError, "u: expected an array (5,) or"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_error_of_sorosim(arm, call, error, message):
    with pytest.raises(error) as caught:
        call(arm)
    assert message in str(caught.value)


def test_an_error_says_which_member_it_is_of(arm):
    u = np.zeros((2, 3, 5))
    u[1, 2] = np.nan
    with pytest.raises(InputError) as caught:
        rollout(arm, u, 0.01)
    assert caught.value.__notes__ == ["member 1"]


def test_derivatives_by_what_python_computes_are_refused_in_the_backward_pass(monkeypatch):
    monkeypatch.setattr(LOADS, "_built_in", dict(LOADS.declared()))
    robot = sorosim.load("cable_manipulator").with_loads(pull=pull_along_x("pull_of_tensors")("arm", force=0.5))
    u = leaf(np.zeros((2, 5)))
    q, _ = rollout(robot, u, 0.004)
    with pytest.raises(InputError, match="that Python computes"):
        q.sum().backward()


def test_second_derivatives_are_refused(arm):
    u = leaf(np.zeros((2, 5)))
    (gradient,) = torch.autograd.grad(rollout(arm, u, 0.01)[0].square().sum(), u, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
