"""Derivatives of motions from equilibria, of batches with failures, through changes of charts, and of places."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.base.errors import ConvergenceError, InputError, SorosimWarning
from sorosim.mechanics.model.anchor import Anchor

TUMBLER = {
    "sorosim": 1, "name": "tumbler",
    "links": {"box": {"joint": "free", "body": {"box": {"size": [0.3, 0.2, 0.1]}, "mass": "2 kg"}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def arm():
    return sorosim.load("cable_manipulator")


def test_motions_and_derivatives_do_not_depend_on_how_arguments_lie_in_memory(arm, rng):
    """Compiled code is made for the arrays of its first call, and would read others at wrong places."""
    u, (q_bar, qd_bar) = rng.random((6, 5)), rng.standard_normal((2, 7, arm.ndof))
    one = sorosim.rollout(arm, u, "10 ms", tolerance=1e-11)
    other = sorosim.rollout(arm, np.asfortranarray(u), "10 ms", tolerance=1e-11)
    assert_array_equal(one.q, other.q)
    for a, b in zip(one.jvp(u), other.jvp(np.asfortranarray(u)), strict=True):
        assert_array_equal(a, b)
    turned = np.asfortranarray(q_bar), np.asfortranarray(qd_bar)
    for a, b in zip(one.vjp(q_bar, qd_bar), other.vjp(*turned), strict=True):
        assert_array_equal(a, b)
    batch = sorosim.Batch(arm, 2, "10 ms", tolerance=1e-11)
    for inputs in (np.stack([u, u]), np.asfortranarray(np.stack([u, u])), np.broadcast_to(u, (2, 6, 5))):
        batch.reset()
        assert_array_equal(batch.rollout(inputs).q, [one.q, one.q])


NUMBERS = {
    "cable_manipulator": ["materials.silicone.young", "links.arm.rod.length"],
    "hybrid_parallel": ["materials.silicone.young"],
}


@pytest.mark.parametrize("name", NUMBERS)
def test_derivatives_count_how_an_equilibrium_to_start_from_changes(name):
    robot, paths, rng = sorosim.load(name), NUMBERS[name], np.random.default_rng(20)
    u, du = 1.0 + rng.random((2, 4, len(robot.actuator_names)))
    values = np.array([sorosim.scalars(robot)[path] for path in paths])
    change = 0.1 * values * rng.standard_normal(len(paths))

    def moved(h):
        other = robot.with_values(dict(zip(paths, values + h * change, strict=True)))
        found = sorosim.rollout(other, u + h * du, "5 ms", "equilibrium", tolerance=1e-13)
        return np.array([found.q, found.qd])

    found = sorosim.rollout(robot, u, "5 ms", "equilibrium", numbers=paths, tolerance=1e-13)
    assert_allclose(found.q[0], sorosim.statics(robot, u=u[0]).q, atol=1e-9)
    tangent, errors = found.jvp(du, numbers=change), []
    for h in (0.1, 0.03, 1e-3):
        difference = (moved(-2 * h) - 8.0 * moved(-h) + 8.0 * moved(h) - moved(2 * h)) / (12.0 * h)
        errors.append(max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(tangent, difference, strict=True)))
    # statics stops at residuals of 1e-9 of what acts, and stiff rods make rates of errors in coordinates
    assert min(errors) < 5e-6
    bars = rng.standard_normal((2, *found.q.shape))
    cotangent = found.vjp(*bars)
    through = (cotangent.u * du).sum() + cotangent.numbers @ change
    terms = bars[0] * tangent.q, bars[1] * tangent.qd
    assert abs(sum(term.sum() for term in terms) - through) <= 1e-9 * sum(np.abs(term).sum() for term in terms)
    # without intervals there is no input to start under
    assert sorosim.rollout(robot, u[:0], "5 ms", "equilibrium").vjp(found.q[:1]).u.shape == (0, u.shape[1])


@pytest.mark.parametrize("name", NUMBERS)
def test_tangents_of_several_directions_are_those_of_each(name):
    robot, paths, rng = sorosim.load(name), NUMBERS[name], np.random.default_rng(21)
    u = 1.0 + rng.random((3, len(robot.actuator_names)))
    found = sorosim.rollout(robot, u, "5 ms", numbers=paths, tolerance=1e-12)
    du, q0, numbers = (rng.standard_normal((3, *shape)) for shape in (u.shape, (robot.ndof,), (len(paths),)))
    together = found.jvp(du, q0=q0, qd0=q0[0], numbers=numbers)
    for k in range(3):
        alone = found.jvp(du[k], q0=q0[k], qd0=q0[0], numbers=numbers[k])
        for many, one in zip(together, alone, strict=True):
            # solved together, by another order of operations: 6e-12 of the largest was met
            assert_allclose(many[k], one, rtol=0.0, atol=1e-9 * np.abs(one).max())
    with pytest.raises(sorosim.InputError, match=r"q0: expected an array \(3, .*got one of shape \(2, "):
        found.jvp(du, q0=q0[:2])


def test_numbers_without_derivatives_are_refused_before_the_motion(monkeypatch):
    monkeypatch.setattr("sorosim.analysis.motion.rollout.Rollout", None)  # no motion is made
    robot, length = sorosim.load("contact_cylinder"), "links.arm.rod.length"
    with pytest.raises(InputError, match="numbers: expected a scalar that changes no surface that touches"):
        sorosim.rollout(robot, np.zeros((1, 5)), "5 ms", numbers=[length])


def test_a_start_without_equilibrium_is_one_error():
    with pytest.raises(ConvergenceError, match="rollout of 'tumbler': there is no equilibrium to start from"):
        sorosim.rollout(sorosim.load(TUMBLER), np.zeros((1, 0)), "10 ms", "equilibrium")


def test_gradients_of_a_batch_leave_failed_members_out(arm):
    batch, u = sorosim.Batch(arm, 3, "20 ms", tolerance=1e-11), np.zeros((3, 4, 5))
    u[1] = 1e9
    with pytest.raises(InputError, match=r"Batch\.vjp: expected a rollout before, got none"):
        batch.vjp()
    batch.reset()
    found = batch.rollout(u)
    assert list(batch.failures) == [1]
    assert "a step of member 1 of 'cable-driven manipulator' at t = 0 s" in str(batch.failures[1])
    assert found.motions[1] is None
    q_bar = np.ones_like(found.q)
    cotangents = batch.vjp(q_bar)
    alone = sorosim.rollout(arm, u[0], "20 ms").vjp(q_bar[0])
    for one, expected in zip(cotangents, alone, strict=True):
        assert np.isnan(one[1]).all()
        assert_array_equal(one[[0, 2]], [expected, expected])


def test_loose_batches_are_said_to_make_derivatives_loose(arm):
    batch = sorosim.Batch(arm, 2, "20 ms")
    batch.reset()
    found = batch.rollout(np.zeros((2, 5)))
    for call in (found.vjp, batch.vjp):
        with pytest.warns(SorosimWarning, match="whose tolerance is 1e-08; tolerance=1e-11 or less") as caught:
            call(found.q)
        assert caught[0].filename == __file__
    loose = sorosim.rollout(arm, np.zeros((2, 5)), "20 ms", tolerance=1e-9)
    for call in (loose.vjp, loose.jvp):
        with pytest.warns(SorosimWarning, match="as loose as its Newton iteration") as caught:
            call()
        assert [one.filename for one in caught] == [__file__]


def test_memory_of_a_motion_with_many_charts_is_that_of_its_states():
    robot, peaks = sorosim.load(TUMBLER), []
    sorosim.rollout(robot, np.zeros((2, 0)), "10 ms")
    for n in (1000, 4000):
        tracemalloc.start()
        found = sorosim.rollout(robot, np.zeros((n, 0)), "10 ms", qd0={"box.free.rz": 8.0})
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(found._segments) > n / 100
    assert peaks[1] < 4.2 * peaks[0]  # n, not n^2


def test_a_change_of_charts_is_differentiated_when_it_is_asked_for():
    robot, dt = sorosim.load("underwater_vehicle"), "20 ms"
    sim = sorosim.Stepper(robot, dt, substeps=4, tolerance=1e-11)
    name = robot.coordinate_names[3]
    sim.reset({name: 3.72}, {name: 6.0})
    assert sim.step().q[3] < 0.0  # beyond 1.2 half turns
    change = sim._last.change
    assert "jacobian" not in vars(change)
    A, _ = sim.linearize()
    # the position, and coordinates of all other joints, stay as they are
    assert_array_equal(change.jacobian[:3], np.eye(160)[:3])
    assert_array_equal(change.jacobian[6:80, 6:80], np.eye(74))
    charts, x, h = sim._steps.system.charts, change.before.ravel(), 1e-5
    two = [np.array([charts.recharted(*(x + k * d).reshape(2, -1)) for d in np.eye(160)]) for k in (h, -h)]
    expected = ((two[0] - two[1]) / (2.0 * h)).reshape(160, 160).T
    assert_allclose(change.jacobian, expected, atol=1e-8)  # h^2 and rounding of 6 rad/s over h
    sim._last = sim._last._replace(change=None)
    assert_allclose(A, expected @ sim.linearize()[0], atol=1e-8 * np.abs(A).max())


def test_derivatives_by_positions_of_a_marker(arm):
    rng, at = np.random.default_rng(22), np.eye(4)
    at[:3, 3] = 0.0, 0.02, 0.01
    place = Anchor("arm", s=0.6, at=at)
    u, du = np.abs(rng.standard_normal((2, 5, 5)))
    bar = rng.standard_normal((6, 3))

    def scalar(u):
        found = sorosim.rollout(arm, u, "10 ms", tolerance=1e-13)
        return sum(one @ (arm.pose(q, "arm", s=0.6) @ at)[:3, 3] for one, q in zip(bar, found.q, strict=True))

    gradient = sorosim.rollout(arm, u, "10 ms").place_vjp(place, position=bar).u
    h = 1e-4
    assert_allclose((gradient * du).sum(), (scalar(u + h * du) - scalar(u - h * du)) / (2.0 * h), rtol=1e-6)
    with pytest.raises(InputError, match=r"place.*expected a link, or a frame on one, got 'hand'"):
        sorosim.rollout(arm, u, "10 ms").place_vjp("hand")


@pytest.mark.parametrize("name", ["hybrid_parallel", "hybrid_serial"])
def test_a_motion_is_a_run_that_is_saved_and_opened(name, tmp_path):
    robot = sorosim.load(name)
    u = np.full((20, len(robot.actuator_names)), 0.1)
    run = sorosim.rollout(robot, u, "5 ms", substeps=2).run
    block = robot.description.simulate
    exact = sorosim.simulate(
        robot, t_end=0.1, dt_out=0.005, u=list(u[0]), method="generalized-alpha", step="2.5 ms", q0=run.q[0],
        qd0=run.qd[0], driven=block.get("driven"),
    )  # fmt: skip
    # the same steps, whose accelerations at the start differ: 3e-6 of forces
    assert_allclose(run.q, exact.q, atol=1.5e-5 * np.abs(exact.q).max())
    assert_allclose(run.lam, exact.lam, atol=1.5e-5 * np.abs(exact.lam).max(initial=0.0))
    assert run.driven.keys() == exact.driven.keys()
    for key, force in exact.driven.items():
        assert_allclose(run.driven[key], force, atol=1.5e-5 * np.abs(force).max())
    run.save(tmp_path / "run.h5")
    again = sorosim.open(tmp_path / "run.h5")
    assert_array_equal(again.q, run.q)
    assert_array_equal(again.lam, run.lam)
    assert again.tip().shape == (21, 3)
    with pytest.raises(InputError, match="run: expected a run that was simulated"):
        sorosim.resume(run, t_end=1.0)


def test_work_of_a_motion_balances_its_energy(arm):
    u = 1.0 - np.cos(0.1 * np.arange(200)[:, None] + np.arange(5))
    energy = sorosim.rollout(arm, u, "1 ms").run.energy()
    assert np.abs(energy.balance).max() < 1.5e-3 * energy.turnover  # 3e-4: of second order in 1 ms
