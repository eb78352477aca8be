"""Materials that relax in rollouts and batches: derivatives against differences, adjoints against tangents.

The memory of a step has the strains of Maxwell elements beside coordinates, rates and accelerations.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import sorosim
from sorosim.analysis.equilibria.assembly import close_if_possible, closed_rates
from sorosim.analysis.motion.stepper import StepState

TERMS = [{"share": 0.3, "time": 0.02}, {"share": 0.2, "time": 0.3}]
NUMBERS = (
    "materials.gel.young", "materials.gel.damping", "materials.gel.density", "materials.gel.relaxation.terms[0].share",
    "materials.gel.relaxation.terms[0].time", "materials.gel.relaxation.terms[1].time", "links.arm.rod.length",
    "links.arm.rod.reference.bending_y", "gravity[2]",
)  # fmt: skip
LOOP = {
    "links": {"end": {"parent": "arm", "body": {"sphere": {"radius": 0.01}, "mass": 0.02}}},
    "loops": {"pin": {"from": "end", "to": {"link": "world", "at": {"as_built": True}}, "joint": {"spherical": {}}}},
}
N, DT = 6, "20 ms"


def arm(equilibria="relaxed", more=None, **simulate):
    more = more or {}
    gel = {"young": 1e6, "poisson": 0.5, "density": 1000, "damping": 50.0,
           "relaxation": {"terms": TERMS, "equilibria": equilibria}}  # fmt: skip
    rod = {"length": 0.2, "section": {"circle": {"radius": 0.01}}, "material": "gel",
           "strain": {"bending_y": 1, "elongation": 0}, "reference": {"bending_y": 0.3}}  # fmt: skip
    return sorosim.load({
        "sorosim": 1, "name": "gel arm", "gravity": [0, 0, -9.81], "materials": {"gel": gel},
        "links": {"arm": {"rod": rod}, **more.get("links", {})}, "loops": more.get("loops", {}),
        "actuators": {"cord": {"tendon": {"rod": "arm", "y": 0, "z": "5 mm"}}}, "simulate": simulate,
    })  # fmt: skip


def central(function, h):
    return (8.0 * (function(h) - function(-h)) - (function(2.0 * h) - function(-2.0 * h))) / (12.0 * h)


ROBOTS = {
    "relaxed": (arm(), NUMBERS, 0.05),
    "instantaneous": (arm("instantaneous"), NUMBERS, 0.05),
    "driven": (arm(driven={"arm.elongation[0]": "0.01*t^2"}), NUMBERS[:6], 0.0),
    # numbers that move the pin open the loop
    "loop": (arm(more=LOOP), NUMBERS[:6], 0.0),
}


@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize("substeps", [1, 2])
def test_derivatives_of_motions_are_those_of_differences(kind, substeps, rng):
    robot, paths, spread = ROBOTS[kind]
    u, q0 = 2.0 + rng.random((N, 1)), spread * rng.standard_normal(robot.ndof)
    values = np.array([sorosim.scalars(robot)[path] for path in paths])
    bars = rng.standard_normal((2, N + 1, robot.ndof))

    def roll(u=u, q0=q0, values=values, **more):
        other = robot.with_values(dict(zip(paths, values, strict=True)))
        return sorosim.rollout(other, u, DT, q0, substeps=substeps, tolerance=1e-13, **more)

    def scalar(motion):
        return (bars[0] * motion.q).sum() + (bars[1] * motion.qd).sum()

    motion = sorosim.rollout(robot, u, DT, q0, substeps=substeps, tolerance=1e-13, numbers=paths)
    cotangent, free = motion.vjp(*bars), ~motion._steps.system.partition.mask
    du, change = rng.standard_normal((N, 1)), values * rng.standard_normal(len(paths))
    sizes = np.abs(values)
    found = [(cotangent.u * du).sum(), *(cotangent.numbers * sizes)]
    expected = [central(lambda h: scalar(roll(u=u + h * du)), 1e-3)]
    for along in np.diag(sizes):
        expected.append(central(lambda h, along=along: scalar(roll(values=values + h * along)), 3e-4))
    if spread:
        found += [*cotangent.q0]
        expected += [central(lambda h, d=d: scalar(roll(q0=q0 + h * d)), 1e-4) for d in np.eye(robot.ndof)]
    # central differences of steps that are solved for to 1e-13 (docs/theory.md, 14)
    assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    starts = {} if kind == "loop" else {"q0": rng.standard_normal(robot.ndof) * free}
    tangent = motion.jvp(du, numbers=change, **starts)
    terms = [(cotangent.u * du).sum(), cotangent.numbers @ change]
    terms += [cotangent.q0 @ q for q in starts.values()]
    size = np.abs(bars[0] * tangent.q).sum() + np.abs(bars[1] * tangent.qd).sum()
    # eps/h^2 at h = 10 ms, as there
    assert abs(scalar(tangent) - sum(terms)) < 3e-10 * size


def test_a_rollout_is_what_a_stepper_steps_and_has_the_strains(rng):
    robot, u = arm("instantaneous"), 2.0 + rng.random((N, 1))
    motion, sim = sorosim.rollout(robot, u, DT, tolerance=1e-11), sorosim.Stepper(robot, DT, tolerance=1e-11)
    states = [sim.reset(), *(sim.step(row) for row in u)]
    assert_array_equal(motion.q, [state.q for state in states])
    assert_array_equal(motion.run.strain, [state.strain for state in states])


def test_members_of_a_batch_relax_on_their_own(rng):
    """Steps change stiffness and rest of what relaxes: no two threads may share these."""
    robot, n = arm("instantaneous"), 5
    u, q0 = 2.0 + rng.random((n, N, 1)), 0.05 * rng.standard_normal((n, robot.ndof))
    times = {"materials.gel.relaxation.terms[0].time": np.linspace(0.01, 0.1, n)}
    for numbers in ({}, times):
        batch = sorosim.Batch(robot, n, DT, numbers, threads=3, tolerance=1e-11)
        batch.reset(q0)
        for k in range(N):
            stepped = batch.step(u[:, k])[0]
        batch.reset(q0)
        rolled = batch.rollout(u)
        bars = rng.standard_normal((2, *rolled.q.shape))
        cotangents = batch.vjp(*bars)
        for i, own in enumerate(batch.robots):
            alone = sorosim.rollout(own, u[i], DT, q0[i], tolerance=1e-11, numbers=tuple(numbers))
            assert_array_equal(alone.q[-1], stepped[i])
            assert_array_equal(alone.q, rolled.q[i])
            for one, many in zip(alone.vjp(*bars[:, i]), cotangents, strict=True):
                assert_array_equal(one, many[i])


def test_the_linearised_step_holds_the_strains_at_its_begin(rng):
    robot = arm("instantaneous")
    sim = sorosim.Stepper(robot, DT, tolerance=1e-12)
    sim.reset(0.05 * rng.standard_normal(robot.ndof))
    state = sim.step([2.0])

    def end(du):
        sim.state = state
        after = sim.step([3.0 + du])
        return np.concatenate([after.q, after.qd])

    end(0.0)
    _, B = sim.linearize()
    assert_allclose(B[:, 0], central(end, 1e-3), atol=1e-8 * np.abs(B).max())


@pytest.mark.parametrize("kind", ROBOTS)
def test_strains_are_differentiated_as_coordinates_are(kind, rng):
    robot, _, spread = ROBOTS[kind]
    n, sim = robot.ndof, sorosim.Stepper(robot, DT, substeps=3, tolerance=1e-13)
    start = sim.reset(spread * rng.standard_normal(n), np.zeros(n))
    z0, u0 = start.strain + 0.1 * rng.standard_normal(len(start.strain)), np.array([2.0])
    x0 = np.concatenate([start.q, start.qd, z0, u0])

    def end(x):
        q, qd, z, u = np.split(x, [n, 2 * n, 2 * n + len(z0)])
        sim.state = StepState(0.0, q, qd, start.u, strain=z)
        after = sim.step(u)
        return np.concatenate([after.q, after.qd, after.strain])

    end(x0)
    A, B = sim._linearize_with_strains()
    A_seen, B_seen = sim.linearize()
    assert_array_equal(A_seen, A[: 2 * n, : 2 * n])
    assert_array_equal(B_seen, B[: 2 * n])
    first = (
        2 * n if kind in ("driven", "loop") else 0
    )  # other coordinates and rates would leave their motion, or open it
    for k in range(first, len(x0)):
        expected, d = np.hstack([A, B])[:, k], np.eye(len(x0))[k]
        assert_allclose(
            central(lambda h, d=d: end(x0 + h * d), 1e-3), expected, atol=1e-8 * max(np.abs(expected).max(), 1.0)
        )


def test_steps_of_loops_are_differentiated_along_states_in_which_they_are_closed():
    robot = ROBOTS["loop"][0]
    sim, every = sorosim.Stepper(robot, DT, substeps=2, tolerance=1e-13), np.arange(robot.ndof)
    rest = sim.reset()

    def start(s):
        q, _, why = close_if_possible(robot, rest.q + s * np.array([1.0, -0.5, 0.2]), every)
        assert not why
        return np.concatenate([q, closed_rates(robot, q, (1.0 + s) * np.array([1.0, 0.5, 0.1]), every)])

    def end(s):
        sim.state = StepState(0.0, *start(s).reshape(2, -1), rest.u, strain=rest.strain)
        after = sim.step([2.0])
        return np.concatenate([after.q, after.qd, after.strain])

    end(0.0)
    found = sim._linearize_with_strains()[0][:, : 2 * robot.ndof] @ (change := central(start, 1e-3))
    expected = central(end, 1e-3)
    assert np.abs(change).min() > 1e-3
    assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


def test_a_fit_to_a_motion_finds_a_relaxation_time():
    truth = arm()
    number = "materials.gel.relaxation.terms[1].time"
    t = 0.02 * np.arange(41)
    u = 3.0 * np.minimum(1.0, t / 0.2)
    run = sorosim.rollout(truth, u[:-1, None], DT)
    tips = run.positions("arm")
    data = sorosim.Measurements({"cord": u}, positions={"arm": tips}, t=t, q0=np.zeros(truth.ndof))
    found = sorosim.fit(truth.with_values({number: 0.2}), data, [number])
    assert found.values[number] == pytest.approx(0.3, rel=1e-6)
