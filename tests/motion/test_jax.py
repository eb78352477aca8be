"""Motions as differentiable functions of JAX."""

import importlib

import numpy as np
import pytest
from helpers.python_load import pull_along_x
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import InputError
from sorosim.base.registry import LOADS

jax = pytest.importorskip("jax", reason="the extra jax is not installed")
differentiable = importlib.import_module("sorosim.jax")
check_grads = pytest.importorskip("jax.test_util").check_grads
jnp, rollout, step = jax.numpy, differentiable.rollout, differentiable.step

pytestmark = pytest.mark.slow

YOUNG = "materials.silicone.young"
TIGHT = 1e-13


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def arm():
    return sorosim.load("cable_manipulator")


def inputs(rng, *shape):
    return np.abs(rng.standard_normal((*shape, 5)))


def of_start_and_modulus(arm):
    """A motion by inputs, start and a modulus [MPa]."""
    return lambda u, q0, young: rollout(arm, u, 0.004, q0, numbers={YOUNG: 1e6 * young}, tolerance=TIGHT)


# -- derivatives


def gradients_agree(function, *arguments):
    def scaled(*arguments):
        q, qd = function(*arguments)
        return q, 1e-2 * qd

    check_grads(jax.jit(scaled), arguments, order=1, modes=["rev"], eps=1e-5, atol=2e-6, rtol=2e-6)


def test_derivatives_of_a_pendulum_by_start_and_numbers():
    robot, u = sorosim.load("pendulum"), np.zeros((6, 0))

    def motion(q0, qd0, mass, length):
        numbers = {"links.bob.body.mass": mass, "links.arm.body.cylinder.length": length}
        return rollout(robot, u, "20 ms", q0, qd0, numbers=numbers, tolerance=TIGHT)

    gradients_agree(motion, np.array([0.3]), np.array([0.1]), 1.0, 0.5)


def test_derivatives_of_a_soft_arm(arm, rng):
    gradients_agree(of_start_and_modulus(arm), inputs(rng, 3), 0.01 * rng.standard_normal(24), 1.2)


def test_derivatives_of_a_robot_with_loops(rng):
    robot = sorosim.load("soft_gripper_parallel")
    gradients_agree(lambda u: rollout(robot, u, 0.003, tolerance=TIGHT), np.abs(rng.standard_normal((3, 2))))


def test_derivatives_of_a_loop_of_steps(arm, rng):
    def motion(u):
        def one(state, u):
            after = step(arm, u, *state, 0.004, tolerance=TIGHT)
            return after, None

        return jax.lax.scan(one, (jnp.zeros(24), jnp.zeros(24)), u)[0]

    gradients_agree(motion, inputs(rng, 3))


# -- values


def test_motions_and_gradients_are_those_of_the_plain_rollout(arm, rng):
    u, q_bar = inputs(rng, 6), rng.standard_normal((7, 24))
    plain = sorosim.rollout(
        arm.with_values({YOUNG: 1.2e6}), u, 0.01, "equilibrium", t0=0.5, numbers=[YOUNG], substeps=2
    )

    def motion(u, young):
        return rollout(arm, u, "10 ms", "equilibrium", None, 0.5, {YOUNG: young}, substeps=2)

    for one in (motion, jax.jit(motion)):
        q, qd = one(u, 1.2e6)
        assert_array_equal(q, plain.q)
        assert_array_equal(qd, plain.qd)
    by, gradient = plain.vjp(q_bar), jax.grad(lambda *x: (motion(*x)[0] * q_bar).sum(), (0, 1))
    for one in (gradient, jax.jit(gradient)):
        found = one(u, 1.2e6)
        assert_array_equal(found[0], by.u)
        assert_array_equal(found[1], by.numbers[0])


def test_numbers_that_are_no_arrays_are_fixed():
    robot, length = sorosim.load("contact_cylinder"), "links.arm.rod.length"  # surfaces that touch have no derivative
    u, value = np.ones((2, len(robot.actuator_names))), sorosim.scalars(robot)[length]
    for same in (value, f"{value} m"):
        found = jax.grad(
            lambda young, same=same: rollout(robot, u, 0.005, numbers={YOUNG: young, length: same})[0].sum()
        )
        assert found(1.1e6) != 0.0


def test_members_of_vmap_and_axes_in_front_are_motions_of_their_own(arm, rng):
    motion, u, q0, young = of_start_and_modulus(arm), inputs(rng, 3, 4), np.zeros(24), np.array([1.0, 1.5])
    alone = np.array([[motion(one, q0, modulus)[0] for one in u] for modulus in young])
    inner = jax.vmap(lambda u, young: motion(u, q0, young)[0], (0, None))
    assert_array_equal(jax.jit(jax.vmap(inner, (None, 0)))(u, young), alone)
    assert_array_equal(motion(np.array([u, u]), q0, np.repeat(young[:, None], 3, 1))[0], alone)
    cost = jax.grad(lambda u, q0, young: motion(u, q0, young)[0].sum(), (0, 1, 2))
    found = jax.jit(jax.vmap(cost, (0, None, None)))(u, q0, 1.5)
    for k, one in enumerate(u):
        for a, b in zip(found, cost(one, q0, 1.5), strict=True):
            assert_array_equal(a[k], b)


def test_a_jacobian_has_one_pass_for_each_row(arm, rng):
    u = inputs(rng, 3)
    found = jax.jit(jax.jacrev(lambda u: rollout(arm, u, 0.01)[0][-1, :2]))(u)
    bar = np.zeros((2, 4, 24))
    bar[[0, 1], -1, [0, 1]] = 1.0
    plain = sorosim.rollout(arm, u, 0.01)
    assert_array_equal(found, [plain.vjp(one).u for one in bar])


def test_a_step_is_the_first_one_after_a_reset(arm, rng):
    sim, u, q0 = sorosim.Stepper(arm, 0.01, tolerance=1e-11), inputs(rng, 1)[0], 0.01 * rng.standard_normal(24)
    sim.reset(q0, np.zeros(24))
    q, qd = step(arm, u, q0, np.zeros(24), 0.01)
    after = sim.step(u)
    assert_array_equal(q, after.q)
    assert_array_equal(qd, after.qd)


def test_single_precision_where_jax_has_no_other(arm, rng):
    jax.config.update("jax_enable_x64", False)
    u = inputs(rng, 4).astype(np.float32)
    cost = jax.jit(jax.value_and_grad(lambda u: rollout(arm, u, 0.01, np.zeros(24))[0].sum()))
    value, gradient = cost(u)
    assert value.dtype == gradient.dtype == jnp.float32
    plain = sorosim.rollout(arm, u.astype(float), 0.01, np.zeros(24))
    assert_allclose(value, plain.q.sum(), rtol=1e-5)
    assert_array_equal(gradient, plain.vjp(np.ones((5, 24))).u.astype(np.float32))


def test_gradients_bring_the_tip_nearer_to_a_goal(arm):
    cost = jax.jit(jax.value_and_grad(lambda u: (rollout(arm, u, "10 ms", np.zeros(24))[0][-1, 0] + 0.2) ** 2))
    u, costs = np.full((20, 5), 0.5), []
    for _ in range(6):
        value, gradient = cost(u)
        costs.append(float(value))
        u = u - 0.1 * np.sign(gradient)
    assert costs[-1] < 0.9 * costs[0]


# -- what goes wrong


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.grad], ids=["plain", "jit", "grad"])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r, u: rollout(r, u[:, :3], 0.01), "u: expected an array (N, 5) or (members, N, 5), got one of shape"),
        (lambda r, u: rollout(r, u, 0.01, np.zeros(3)), "q0: expected an array (24,), got one of shape (3,)"),
        (lambda r, u: rollout(r, u, 0.01, numbers={YOUNG: u[0]}), f"numbers.{YOUNG}: expected an array (), got one"),
        (lambda r, u: rollout(r, u, 0.01, numbers={"materials.silicon.young": u[0, 0]}), "did you mean materials.sil"),
        (lambda r, u: rollout(r, u, 0.01, numbers={"materials.silicon.young": 1e6}), "did you mean materials.silicone"),
        (lambda r, u: rollout(r, u, "1 m"), "dt: expected a time greater than 0"),
        (lambda r, u: rollout(r, u, 0.01 * u[0, 0]), "dt: expected a time greater than 0"),
        (lambda r, u: rollout(r, u, 0.01, t0="1 m"), "t0: expected a time"),
        (lambda r, u: rollout(r, u, 0.01, substeps=0), "substeps: expected a whole number from 1"),
        (lambda r, u: rollout(r, u, 0.01, driven={"leg": 0.0}), "driven: expected the name of a link with a joint"),
        (lambda r, u: rollout(r, u + 1j, 0.01), "u: expected an array of real numbers, got one of complex128"),
        (lambda r, u: step(r, u[0, :2], np.zeros(24), np.zeros(24), 0.01), "u: expected an array (5,) or (members, 5)"),
    ],
)  # fmt: skip
def test_wrong_names_shapes_and_options_are_one_error_of_sorosim(arm, wrap, call, message):
    with pytest.raises(InputError) as caught:
        wrap(lambda u: call(arm, u)[0].sum())(jnp.zeros((3, 5)))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r, u: rollout(r, jnp.nan * u, 0.01), "u[0].cable1: expected a finite number, got nan"),
        (lambda r, u: rollout(r, u, 0.01, numbers={YOUNG: u[0, 0] - 1.0}), f"{YOUNG}: expected a pressure or modulus"),
        (lambda r, u: rollout(r, 1e9 + u, 0.01), "Newton's method does not converge"),
    ],
)  # fmt: skip
def test_wrong_values_are_told_by_an_error_of_jax(arm, call, message):
    with pytest.raises((RuntimeError, ValueError)) as caught:  # which of them depends on JAX
        jax.block_until_ready(jax.jit(lambda u: call(arm, u))(jnp.zeros((3, 5))))
    assert message in str(caught.value)


def test_derivatives_by_what_python_computes_are_refused(monkeypatch):
    monkeypatch.setattr(LOADS, "_built_in", dict(LOADS.declared()))
    robot = sorosim.load("cable_manipulator").with_loads(pull=pull_along_x("pull_of_arrays")("arm", force=0.5))
    with pytest.raises((RuntimeError, ValueError), match="that Python computes"):
        jax.block_until_ready(jax.jit(jax.grad(lambda u: rollout(robot, u, 0.004)[0].sum()))(jnp.zeros((2, 5))))
