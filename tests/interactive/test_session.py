"""A session without a page: what moves, what is pulled, what is recorded, what is refused."""

import os
import time
import warnings
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation
from scipy.stats import chi2

import sorosim
from sorosim.analysis.results.result import Equilibrium, Run
from sorosim.base.errors import ConvergenceError, InputError, ModelError
from sorosim.base.files_read import WatchedFiles, noting_files
from sorosim.files import with_values
from sorosim.mechanics.kernels.exchange import tree_exchange
from sorosim.mechanics.kernels.kinematics import forward_sweep, read_jacobians, read_poses
from sorosim.view.interactive import session as module
from sorosim.view.interactive.controls import ALIKE, Controls
from sorosim.view.interactive.observing import AXES_95
from sorosim.view.interactive.pull import FREQUENCY, Pull, response
from sorosim.view.interactive.recording import file_stem
from sorosim.view.interactive.session import MOTION, STATICS, Session

FINGER = """\
sorosim: 1
name: finger
materials:
  silicone: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 10 kPa*s}
links:
  finger:
    joint: fixed
    rod:
      length: 12 cm
      section: {circle: {radius: [8 mm, 4 mm]}}
      material: silicone
      strain: {bending: 2, elongation: 0}
actuators:
  tendon: {tendon: {rod: finger, y: 0, z: 0.8*r}}
simulate: {t_end: 2, u: {tendon: "2*smoothstep(t)"}}
"""
WITH_OTHERS = """\
sorosim: 1
include: [base.yaml]
links:
  tool: {parent: finger, joint: fixed, visual: [{mesh: {file: body.off}}]}
simulate: {t_end: 2, u: {tendon: {csv: u.csv}}}
"""
TETRAHEDRON = "OFF\n4 4 0\n0 0 0\n0.02 0 0\n0 0.02 0\n0 0 0.02\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
DT = 5e-3


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "finger.yaml"
    path.write_text(FINGER)
    return path


@pytest.fixture
def robot(file):
    return sorosim.load(file)


@pytest.fixture
def session(robot, tmp_path):
    return Session(robot, out=tmp_path / "run.h5")


def pulled(session, target=(0.02, 0.03, 0.0), s=0.6):
    """The session, whose finger is pulled towards a place beside where it was held."""
    session.grab("finger", s=s)
    state = session.frame(0.0)
    session.aim(state.pull[0] + target)
    return session.frame(0.0)


# -- motion ------------------------------------------------------------------------------------------------------------


def test_sliders_are_the_inputs_of_the_steps(session, robot):
    session.set(tendon="1.5 N")
    state = session.frame(0.2)
    stepper = sorosim.Stepper(robot, DT)
    stepper.reset(u=[0.0])
    for _ in range(40):
        known = stepper.step([1.5])
    assert state.t == pytest.approx(0.2)
    assert_allclose(state.q, known.q, rtol=0.0, atol=1e-12)  # the load of the pull adds zeros
    assert state.values == {"tendon": 1.5}


def test_steps_are_chosen_as_those_of_a_stepper(robot):
    options = {"method": "euler", "substeps": 3}
    one, sim = Session(robot, dt="5 ms", **options), sorosim.Stepper(robot, "5 ms", **options)
    one.set(tendon=1.0)
    state, same = one.frame(0.005), sim.reset()
    same = sim.step([1.0])
    assert_allclose(state.q, same.q, atol=1e-12)
    with pytest.raises(InputError, match="substeps"):
        Session(robot, substeps=0)


def test_speed_pause_step_and_reset(session):
    session.set_speed(0.5)
    assert session.frame(0.2).t == pytest.approx(0.1)
    session.pause()
    assert session.frame(0.2).t == pytest.approx(0.1)
    session.step()
    state = session.frame(0.2)
    assert (state.t, state.paused) == (pytest.approx(0.1 + DT), True)
    session.pause(False)
    assert session.frame(0.2).t == pytest.approx(0.2 + DT)
    session.set(tendon=1.0)
    session.reset()
    state = session.frame(0.0)
    assert state.t == 0.0
    assert state.values == {"tendon": 0.0}
    assert_array_equal(state.q, 0.0)


def test_the_file_can_be_played_from_its_begin(session, robot):
    session.frame(0.3)
    session.follow("file")
    state = session.frame(0.5)
    stepper = sorosim.Stepper(robot, DT)
    stepper.reset()
    for k in range(100):
        known = stepper.step([session.controls.prescribed(k * DT)["tendon"]])
    assert_allclose(state.q, known.q, rtol=0.0, atol=1e-12)
    session.set(tendon=0.3)  # whoever moves a slider takes over
    assert session.frame(0.0).source == "sliders"


@pytest.mark.parametrize("kind", ["function", "object"])
def test_a_controller_drives(robot, kind):
    class Law:
        def step(self, q, qd):
            return {"tendon": "0.5 N"}

    controller = Law() if kind == "object" else lambda t, q, qd: [0.5]
    state = Session(robot, controller=controller).frame(0.05)
    assert state.source == "controller"
    assert_array_equal(state.u, [0.5])


def test_a_controller_that_raises_pauses_and_is_quoted(robot):
    def law(t, q, qd):
        raise ZeroDivisionError("no gain")

    state = Session(robot, controller=law).frame(0.05)
    assert state.paused
    assert "ZeroDivisionError: no gain" in state.message


def test_a_step_without_solution_pauses_and_says_why(session):
    session.set(tendon="1e9 N")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflows on the way
        state = session.frame(1.0)
    assert state.paused
    assert "paused at t = " in state.message
    session.reset()
    session.pause(False)
    assert session.frame(0.1).t == pytest.approx(0.1)


def test_driven_coordinates_go_smoothly_to_where_they_are_set():
    session = Session(sorosim.load("soft_gripper"))
    palm = session.robot.engine.layout.coordinate("palm", "driven")
    session.set(palm="5 cm")
    rates = [session.frame(DT).qd[palm] for _ in range(400)]
    assert session.state.q[palm] == pytest.approx(0.05, abs=1e-6)
    assert max(rates) < 1.1 * 0.05 / (np.e * module.SETTLING)  # of a critically damped oscillator


def test_statics_follows_the_sliders(session, robot):
    session.set_mode(STATICS)
    session.set(tendon=1.0)
    state = session.frame(0.1)
    assert_allclose(state.q, sorosim.statics(robot, [1.0]).q, rtol=0.0, atol=1e-8)
    session.set_mode(MOTION)
    after = session.frame(0.5)  # at rest there
    assert_allclose(after.q, state.q, rtol=0.0, atol=1e-6)


def test_gravity_is_changed_for_steps_and_equilibria(session, robot):
    session.set_mode(STATICS)
    session.set_gravity([3.0, 0.0, 0.0])
    known = sorosim.statics(robot.with_values({"gravity": [3.0, 0.0, 0.0]}), [0.0])
    assert_allclose(session.frame(0.0).q, known.q, rtol=0.0, atol=1e-8)


def test_the_thread_moves_and_ends(session):
    session.start()
    state = frame_with(session, lambda state: state.t > 0.0)
    session.stop()
    assert session.wait_for_frame(state, 0.2) is session.state


def test_what_is_set_before_the_thread_moves_is_kept(session):
    session.set(tendon="1.5 N")
    session.start()
    state = frame_with(session, lambda state: state.t > 0.0)
    session.stop()
    assert state.values == {"tendon": 1.5}
    assert_allclose(state.u, [1.5])


def frame_with(session, condition, seconds=600.0):
    """The first frame of a condition; kernels may have to be compiled before."""
    state, end = session.state, time.monotonic() + seconds
    while not condition(state):
        assert time.monotonic() < end
        state = session.wait_for_frame(state, 1.0)
    return state


# -- what is compiled, and what fails ----------------------------------------------------------------------------------


def test_nothing_is_compiled_at_the_first_grab(session, monkeypatch):
    published, publish = [], session._publish
    monkeypatch.setattr(session, "_publish", lambda: published.append(session._compiling) or publish())
    session._rehearse()
    assert published[0] == module.COMPILING
    assert published[-1] == session.state.compiling == ""
    assert session.state.t == 0.0  # it was another session that moved
    assert session._pull.grip is None

    def versions():
        kernels = (forward_sweep, read_poses, read_jacobians, tree_exchange)
        parts = [kernel.entry for kernel in kernels], [kernel.dispatcher for kernel in kernels]
        return [[len(one.signatures) for one in part] for part in parts]

    known = versions()
    assert all(known[0])
    session.record()
    pulled(session)
    session.frame(0.05)
    session.record(False)
    session.set_mode(STATICS)
    session.frame(0.0)
    assert versions() == known


def test_coordinates_that_are_read_only_are_no_other_type(robot):
    q, qd = np.full((2, robot.ndof), 0.1)
    node = np.array([robot.engine.layout.link("finger").nodes[-1]])
    known = robot.engine.poses(node, q, qd)
    before = len(forward_sweep.entry.signatures)
    for array in (q, qd):
        array.setflags(write=False)
    assert_array_equal(robot.engine.poses(node, q, qd)[0], known[0])
    assert len(forward_sweep.entry.signatures) == before


def test_whatever_is_raised_pauses_and_is_said(session, monkeypatch, capsys):
    session._compiled = set(session._pull.robot.engine.features)  # nothing to compile
    monkeypatch.setattr(session._stepper, "step", lambda *_: [][0])
    session.start()
    state = frame_with(session, lambda state: state.paused)
    assert "IndexError: list index out of range; the terminal shows where" in state.message
    assert "Traceback" in capsys.readouterr().err
    session.reset()  # with a stepper of its own
    frame_with(session, lambda state: state.t > 0.0 and state.message == "")
    session.stop()


def test_the_share_of_a_slow_controller_is_known(robot):
    def law(t, q, qd):
        time.sleep(0.02)
        return [0.0]

    session = Session(robot, controller=law)
    state = session.frame(1.0)
    assert 0.5 < state.controller_share <= 1.0
    session.set(tendon=0.0)  # sliders drive
    for _ in range(10):
        state = session.frame(0.2)
    assert state.controller_share < 0.5


# -- pulls -------------------------------------------------------------------------------------------------------------


def test_an_equilibrium_under_a_pull_is_that_of_a_spring(session, robot):
    session.set_mode(STATICS)
    state, pull = pulled(session), session._pull
    anchor = {"link": "finger", "at": {"s": pull.grip.s, "position": pull.grip.offset.tolist()}}
    spring = sorosim.Spring(anchor, {"at": {"position": pull.target.tolist()}}, stiffness=pull.stiffness)
    known = sorosim.statics(robot.with_loads(spring=spring), [0.0])
    assert_allclose(state.q, known.q, rtol=0.0, atol=1e-8)
    assert np.linalg.norm(state.q) > 0.1
    assert_allclose(state.pull[2], pull.stiffness * (state.pull[1] - state.pull[0]), rtol=1e-12)


def test_steps_under_a_pull_have_exact_derivatives(session):
    pulled(session)
    state = session.frame(0.05)
    sim, n, h = sorosim.Stepper(session._pull.robot, DT, tolerance=1e-12), session.robot.ndof, 1e-6

    def step(x):
        sim.reset(q=x[:n], qd=x[n:], t=state.t, u=state.u)
        after = sim.step()
        return np.concatenate([after.q, after.qd])

    x = np.concatenate([state.q, state.qd])
    A_fd = np.stack([(step(x + h * d) - step(x - h * d)) / (2.0 * h) for d in np.eye(2 * n)], axis=1)
    step(x)
    assert_allclose(sim.linearize()[0], A_fd, rtol=0.0, atol=1e-7 * np.abs(A_fd).max())


def test_the_force_of_a_pull_is_what_the_robot_feels(session, rng):
    pulled(session)
    pull, n = session._pull, session.robot.ndof
    q, qd = 0.3 * rng.standard_normal(n), rng.standard_normal(n)
    with_pull = pull.robot.inverse_dynamics(q, qd, qdd=np.zeros(n))
    without = session.robot.inverse_dynamics(q, qd, qdd=np.zeros(n))
    engine, node = pull.robot.engine, np.array([pull.grip.node])
    g, _, (J,), _ = engine.jacobians(node, q, qd, False)
    world = g[0, :3, :3] @ (J[3:] - np.cross(pull.grip.offset[:, None], J[:3], axis=0))
    assert_allclose(without - with_pull, world.T @ pull.force(q, qd), rtol=0.0, atol=1e-12)


def test_a_released_pull_does_nothing(session, robot):
    state = pulled(session)
    q, zero = np.full(len(state.q), 0.2), np.zeros(len(state.q))
    assert np.abs(session._pull.robot.inverse_dynamics(q, zero, qdd=zero)
                  - robot.inverse_dynamics(q, zero, qdd=zero)).max() > 1e-4  # fmt: skip
    session.release()
    assert session.frame(0.0).pull is None
    assert_array_equal(
        session._pull.robot.inverse_dynamics(q, zero, qdd=zero), robot.inverse_dynamics(q, zero, qdd=zero)
    )


def test_no_pull_is_too_far_for_a_step(session):
    session.set_strength(100.0)
    state = pulled(session, (1e6, -1e6, 0.0), s=1.0)
    farthest = np.linalg.norm(state.pull[1] - state.pull[0])
    assert farthest == pytest.approx(0.12)  # as far as the robot is long
    state = session.frame(1.0)
    assert not state.paused, state.message
    assert state.t == pytest.approx(1.0)


def test_strength_multiplies_the_stiffness(session):
    pulled(session)
    before = session._pull.stiffness
    session.set_strength(10.0)
    session.reset()
    pulled(session)
    assert session._pull.stiffness == pytest.approx(10.0 * before)


def test_the_stiffness_of_a_pull_is_that_of_the_point(robot):
    pull, q, free = Pull(robot), np.zeros(robot.ndof), np.ones(robot.ndof, dtype=bool)
    pull.grab(pull.at(q, "finger"), q, free, 1.0, 1.0)
    # the tip, moved slowly by a force along each axis, against springs and against its inertia at a frequency
    K = -robot.internal_force_derivatives(q, q).dtau_dq + (2 * np.pi * FREQUENCY) ** 2 * robot.mass_matrix(q)
    J = robot.jacobian(q, "finger")[3:]
    assert 1.0 / pull.stiffness == pytest.approx(np.trace(J @ np.linalg.solve(K, J.T)) / 3.0)


def test_what_gives_way_keeps_loops_closed():
    robot = sorosim.load("hybrid_parallel")
    q = robot.initial_q
    R, A = response(robot, q, np.ones(robot.ndof, dtype=bool)), robot.loop_rows(q).A
    assert np.abs(R).max() > 0.0
    assert_allclose(A @ R, 0.0, atol=1e-9 * np.abs(A).max() * np.abs(R).max())


def test_what_is_driven_cannot_be_pulled():
    session = Session(sorosim.load("soft_gripper"))
    session.grab("palm")
    assert "a point that a force can move" in session.frame(0.0).message


# -- records -----------------------------------------------------------------------------------------------------------


def test_a_recorded_motion_with_pulls_can_be_simulated_again(robot, tmp_path):
    session = Session(robot, out=tmp_path / "run.h5", dt="1 ms")
    session.set(tendon=0.5)
    session.record()
    session.frame(0.1)
    pulled(session)
    session.frame(0.2)
    pulled(session, (0.0, -0.02, 0.0), s=1.0)
    assert session.frame(0.1).recorded == 42  # each 10 ms, and where pulls begin
    session.release()
    last = session.frame(0.2)
    session.record(False)
    assert "run.h5" in session.frame(0.0).message
    run = sorosim.open(tmp_path / "run.h5")
    assert isinstance(run, Run)
    assert_array_equal(run.q[-1], last.q)
    assert list(run.robot.description.loads) == ["pull1", "pull2"]
    assert run.message.endswith("states recorded by sorosim.live, pulled 2 times at finger")
    again = sorosim.simulate(run.robot, run.t[-1], u=[0.5], dt_out="1 ms", rtol=1e-6, atol=1e-8)
    tip = np.stack([np.interp(run.t, again.t, x) for x in again.tip().T], axis=1)
    error, size = np.abs(run.tip() - tip).max(), np.abs(run.tip() - run.tip()[0]).max()
    assert error < 1e-3 * size  # 1e-4 to 2e-4; 7e-4 in steps of 2 ms, 5e-3 in those of 5 ms


def test_an_equilibrium_is_recorded(session, tmp_path):
    session.set_mode(STATICS)
    state = pulled(session)
    session.record()
    session.frame(0.0)
    found = sorosim.open(tmp_path / "run.h5")
    assert isinstance(found, Equilibrium)
    assert_array_equal(found.q, state.q)
    again = sorosim.statics(found.robot, found.u, q0=found.q)
    assert_allclose(again.q, found.q, rtol=0.0, atol=1e-6)


def test_recordings_do_not_replace_files_and_end_at_a_reset(session, tmp_path):
    for _ in range(2):
        session.record()
        session.frame(0.05)
        session.reset()
        session.frame(0.0)
    assert sorted(path.name for path in tmp_path.glob("*.h5")) == ["run.h5", "run2.h5"]


def test_gravity_stays_while_a_motion_is_recorded(session):
    session.record()
    session.set_gravity([0.0, 0.0, 0.0])
    state = session.frame(0.0)
    assert "end the recording first" in state.message
    assert_array_equal(state.gravity, session.robot.description.gravity)


# -- files -------------------------------------------------------------------------------------------------------------


def test_a_saved_file_is_taken_and_one_with_mistakes_is_not(file, monkeypatch):
    monkeypatch.setattr(WatchedFiles, "WAIT", 0.0)
    session = Session(sorosim.load(file), watched=[file], reload=lambda: sorosim.load(file))
    session.set(tendon=0.7)
    before = session.frame(0.1)

    def save(text, nanoseconds):
        file.write_text(text)
        os.utime(file, ns=(nanoseconds, nanoseconds))
        session._look_at_file()
        return session.frame(0.0)

    wrong = save(FINGER.replace("12 cm", "-12 cm"), 10**18)
    assert "length" in wrong.message
    assert "-12 cm" in wrong.message
    assert wrong.generation == before.generation
    right = save(FINGER.replace("12 cm", "15 cm"), 2 * 10**18)
    assert right.generation > before.generation
    assert right.robot.links[0].rod.length == 0.15
    assert_array_equal(right.q, before.q)
    assert right.values == {"tendon": 0.7}
    other = save(FINGER.replace("bending: 2", "bending: 3"), 3 * 10**18)  # other coordinates: from the start
    assert other.t == 0.0


def save_as_later(path, text, seconds):
    path.write_text(text)
    os.utime(path, ns=(seconds * 10**9, seconds * 10**9))


def test_files_that_the_file_takes_in_are_watched(tmp_path, monkeypatch):
    monkeypatch.setattr(WatchedFiles, "WAIT", 0.0)
    base, main, mesh = FINGER[: FINGER.index("simulate")], tmp_path / "main.yaml", tmp_path / "body.off"
    (tmp_path / "base.yaml").write_text(base)
    (tmp_path / "u.csv").write_text("t, tendon\n0, 0\n1, 1\n")
    mesh.write_text(TETRAHEDRON)
    main.write_text(WITH_OTHERS)
    with noting_files() as files:
        robot = sorosim.load(main)
    session = Session(robot, watched=files, reload=lambda: sorosim.load(main))
    assert {path.name for path in session._watched.paths} == {"main.yaml", "base.yaml", "u.csv", "body.off"}

    def seen(path, text, seconds):
        save_as_later(tmp_path / path, text, seconds)
        session._look_at_file()
        return session.frame(0.0)

    state = seen("base.yaml", base.replace("12 cm", "15 cm"), 1)
    assert state.robot.links[0].rod.length == 0.15
    assert "base.yaml" in state.message
    seen("u.csv", "t, tendon\n0, 0\n1, 3\n", 1)
    assert session.controls.prescribed(1.0) == {"tendon": 3.0}
    larger = seen("body.off", TETRAHEDRON.replace("0.02", "0.04"), 1)
    assert np.ptp(larger.robot.links[1].visual[0].shape.vertices, axis=0).max() == 0.04
    # whatever is mended is seen, though the others were not reached
    assert "-12 cm" in seen("base.yaml", base.replace("12 cm", "-12 cm"), 2).message
    assert seen("base.yaml", base, 3).robot.links[0].rod.length == 0.12


# -- controls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["cable_manipulator", "soft_gripper", "underwater_vehicle", "pendulum", "hybrid_serial"]
)
def test_ranges_contain_the_start_and_what_the_file_prescribes(name):
    robot = sorosim.load(name)
    controls = Controls(robot, None, None, {})
    assert [one.name for one in controls.all.values() if not one.is_driven] == list(robot.actuator_names)
    for t in np.linspace(0.0, robot.description.simulate["t_end"], 50):
        for name, x in controls.prescribed(t).items():
            assert controls.all[name].low <= x <= controls.all[name].high


def test_a_range_without_any_hint_moves_the_robot_visibly(robot):
    still = Controls(robot, {"tendon": 0.0}, None, {}).all["tendon"]
    assert still.low == 0.0  # a tendon only pulls
    tip = sorosim.statics(robot, [still.high]).tip()
    assert 0.02 < np.linalg.norm(tip - sorosim.statics(robot, [0.0]).tip()) < 0.25


@pytest.mark.parametrize(("name", "tip"), [("hybrid_parallel", "plate"), ("cable_manipulator", "arm")])
def test_the_tip_of_pulls_and_plots_can_move(name, tip):
    robot = sorosim.load(name)
    controls = Controls(robot, None, None, {})
    assert controls.tip == tip
    pull = Pull(robot)
    pull.grab(pull.at(robot.initial_q, tip), robot.initial_q, controls.free, 1.0, 1.0)
    assert np.isfinite(pull.stiffness)


def test_guessed_ranges_are_round(robot):
    still, moving = (Controls(robot, {"tendon": u}, None, {}).all["tendon"] for u in (0.0, "1.2345678*sin(7*t)^2"))
    assert (moving.low, moving.high) == (0.0, 1.6)  # a quarter beyond 1.2345678 is 1.543
    assert moving.step == 0.01
    assert float(f"{still.high:.2g}") == still.high


@pytest.mark.parametrize("name", ["cable_manipulator", "two_segment_arm"])
def test_inputs_of_one_kind_and_size_have_one_range(name):
    controls = Session(sorosim.load(name)).controls.all.values()
    largest = sorted({max(-one.low, one.high) for one in controls})
    assert all(more > ALIKE * less for less, more in pairwise(largest))


def test_names_of_recordings_have_no_spaces():
    assert file_stem("cable manipulator") == "cable_manipulator"
    assert file_stem("arm/leg: 2") == "arm_leg_2"
    assert file_stem("..") == "robot"


def test_a_passing_robot_is_in_the_equilibrium_of_one_that_stays(robot, session):
    """Ranges of sliders are those of the robot before; a motion that begins there is that of the same robot."""
    longer = with_values(robot, {"links.finger.rod.length": "15 cm"})
    other = Session(robot)
    for one, passing in ((session, True), (other, False)):
        one.set_mode(STATICS)
        one.set(tendon="1 N")
        one.frame(0.0)
        one.take(longer, passing=passing)
        one.frame(0.0)
    assert session.state.generation == other.state.generation
    equilibrium = sorosim.statics(longer, {"tendon": 1.0})
    for one in (session, other):
        assert_allclose(one.state.q, equilibrium.q, atol=1e-7 * np.abs(equilibrium.q).max())
    before, stays = Controls(robot, None, None, {}).all["tendon"], Controls(longer, None, None, {}).all["tendon"]
    assert (session.controls.all["tendon"], other.controls.all["tendon"]) == (before, stays)
    assert_array_equal(session.controls.outputs.poses(equilibrium.q), other.controls.outputs.poses(equilibrium.q))
    for one in (session, other):
        one.set_mode(MOTION)
        one.set(tendon="0 N")
        one.frame(0.1)
    assert_allclose(session.state.q, other.state.q, atol=1e-6 * np.abs(equilibrium.q).max())
    assert session.state.t == other.state.t > 0.0


def test_given_ranges_are_taken(robot):
    given = Controls(robot, None, None, {"tendon": ("1 N", "3 N")}).all["tendon"]
    assert (given.low, given.high) == (0.0, 3.0)  # the start is within
    assert given.label == "tendon [N]"


def test_sliders_of_servos_go_from_stop_to_stop_and_others_where_they_are_asked_to():
    lid = {"joint": {"revolute": {"axis": [0, 0, 1], "limits": {"low": -0.5, "high": 2.0, "stiffness": 100.0}}},
           "body": {"mass": 1.0, "inertia": [0.1, 0.1, 0.1]}}  # fmt: skip
    servo = {"servo": {"link": "lid", "stiffness": 5.0}}
    robot = sorosim.load({"sorosim": 1, "links": {"lid": lid}, "actuators": {"turn": servo}})
    turn = Controls(robot, None, None, {}).all["turn"]
    assert (turn.low, turn.high) == (-0.5, 2.0)
    turn = Controls(robot, None, None, {"turn": (-1.0, 3.0)}).all["turn"]
    assert (turn.low, turn.high) == (-1.0, 3.0)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda s: s.set(tenon=1.0), InputError, "tendon"),
        (lambda s: s.set(tendon="1 m"), InputError, "force"),
        (lambda s: s.set_mode("dynamics"), InputError, "motion"),
        (lambda s: s.follow("controller"), InputError, "sliders"),
        (lambda s: s.grab("fingr"), ModelError, "finger"),
        (lambda s: s.aim([0.0, 1.0]), InputError, "3 numbers"),
        (lambda s: s.set_gravity(9.81), InputError, "3 numbers"),
        (lambda s: s.set_speed(0.0), InputError, "greater than 0"),
        (lambda s: s.set_strength(-1.0), InputError, "greater than 0"),
        (lambda s: s.pause("yes"), InputError, "paused"),
        (lambda s: Session(s.robot, bounds={"tendon": 3.0}), InputError, "a pair"),
        (lambda s: Session(s.robot, bounds={"tenon": (0, 1)}), InputError, "tendon"),
        (lambda s: Session(s.robot, controller=3.0), InputError, "step"),
        (lambda s: Session(s.robot, dt=0.0), InputError, "dt"),
        (lambda s: Session("finger.yaml"), InputError, "a Robot"),
    ],
)
def test_mistakes_are_refused_at_once(session, call, error, words):
    with pytest.raises(error, match=words):
        call(session)


# -- an observer beside it ---------------------------------------------------------------------------------------------

OBSERVED = {
    "readings": ["finger", "finger@0.5"], "noise": "0.2 mm", "unknown": {"finger.tip": "force"},
    "prior": {"finger.tip": "0.2 N"}, "process": {"finger.tip": "0.3 N", "motion": "1 cm/s"},
}  # fmt: skip


@pytest.fixture
def observed(robot):
    return Session(robot, observe=OBSERVED)


def test_an_observer_tells_the_pull_that_it_is_not_told(observed):
    state = pulled(observed, (0.0, 0.02, 0.03), 1.0)
    state = observed.frame(1.0)
    seen, force = state.estimated.seen, state.pull[2]
    assert np.linalg.norm(force[1:]) > 0.05  # N: else this would say nothing
    for name, known in zip(("f_y", "f_z"), force[1:], strict=True):
        sd = seen.standard_deviations[f"finger.tip.{name}"]
        assert sd < 0.2  # of the prior
        assert abs(seen.values[f"finger.tip.{name}"] - known) < 4.0 * sd
    for off, reach in state.estimated.off(state.q).values():
        assert off < 1.5 * reach < 1.5e-3
    assert set(state.estimated.off(state.q)) == {"finger", "finger@0.5"}


def test_an_observer_of_numbers_shows_the_robot_that_it_estimates(robot):
    """Places and their bands are of the estimated length and have its part; gravity can only be the file's."""
    path = "links.finger.rod.length"
    session = Session(robot, observe={"readings": ["finger"], "noise": "0.2 mm", "unknown": [path],
                                      "prior": {path: ("12.5 cm", "1 mm")}})  # fmt: skip
    estimated = session.frame(0.05).estimated
    seen = estimated.seen
    assert abs(seen.values[path] - 0.12) > 1e-5  # else this would say nothing
    (place,), (root,) = estimated.ellipsoids(estimated.frames)
    g, C = seen.pose("finger")
    assert place == pytest.approx(g[:3, 3], abs=1e-12)
    assert root @ root.T == pytest.approx(AXES_95**2 * g[:3, :3] @ C[3:, 3:] @ g[:3, :3].T, abs=1e-14)
    session.set_gravity((0.0, 0.0, -5.0))
    estimated = session.frame(0.05).estimated
    assert estimated.seen is None
    assert "gravity is not the file's" in estimated.message


def test_a_band_grows_while_no_readings_arrive(observed):
    before = observed.frame(0.2)
    observed.read(False)
    without = observed.frame(0.2)
    observed.read()
    after = observed.frame(0.2)
    reach = [state.estimated.off(state.q)["finger"][1] for state in (before, without, after)]
    assert reach[1] > 2.0 * max(reach[0], reach[2])
    assert [state.estimated.reads for state in (before, without, after)] == [True, False, True]


def test_an_observer_can_be_off_and_knows_no_equilibria(observed):
    observed.observe(False)
    off = observed.frame(0.1)
    observed.observe()
    on = observed.frame(0.0)
    assert off.estimated.seen is None
    assert not off.estimated.on
    assert on.estimated.seen.t == on.t
    observed.set_mode(STATICS)
    assert observed.frame(0.1).estimated.seen is None
    observed.set_mode(MOTION)
    assert observed.frame(0.0).estimated.seen is not None


@pytest.mark.parametrize("error", [ConvergenceError("no step"), RuntimeError("odd")])
def test_a_motion_goes_on_where_its_observer_fails(observed, monkeypatch, capsys, error):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(observed._observing.observer, "step", fails)
    state = observed.frame(0.1)
    assert state.t == pytest.approx(0.1)
    assert state.estimated.seen is None
    assert str(error) in state.estimated.message
    assert not state.message
    monkeypatch.undo()
    observed.reset()
    assert observed.frame(0.1).estimated.seen is not None


def test_gravity_is_that_of_the_observer(observed):
    observed.set_gravity([0.0, 0.0, 4.0])
    state = observed.frame(0.4)
    values, sd = state.estimated.seen.values, state.estimated.seen.standard_deviations
    assert all(abs(x) < 4.0 * sd[name] for name, x in values.items())


def test_an_observer_says_that_it_does_not_follow_driven_coordinates(tmp_path):
    path = tmp_path / "driven.yaml"
    path.write_text(FINGER.replace("joint: fixed", "joint: {prismatic: {axis: [0, 0, 1]}}").replace(
        "simulate: {t_end: 2,", "simulate: {t_end: 2, driven: {finger: 0},"))  # fmt: skip
    session = Session(sorosim.load(path), observe=OBSERVED)
    assert session.frame(0.1).estimated.seen is not None
    name = next(name for name, one in session.controls.all.items() if one.is_driven)
    session.set(**{name: "2 cm"})
    state = session.frame(0.1)
    assert state.estimated.seen is None
    assert "driven" in state.estimated.message


@pytest.mark.parametrize(
    ("given", "message"),
    [({"readings": ["thumb"]}, "thumb"), ({}, "sensors in the file, or places"), ({"reading": ["finger"]}, "readings"),
     ({"readings": ["finger"]}, "standard deviation"), ({"readings": ["finger"], "noise": {"finger@0.5": 1e-3}}, "0.5"),
     ({"readings": ["finger"], "noise": {"finger": np.eye(3)}}, "a covariance"), ({"dt": 0}, "greater than 0"),
     ({"readings": "finger", "noise": 1e-3, "unknown": {"finger.tip": "force"}}, "what is known of it")],
)  # fmt: skip
def test_observers_that_cannot_be_are_refused_at_once(robot, given, message):
    with pytest.raises(InputError, match=message):
        Session(robot, observe={"readings": None, **given} if "dt" not in given else {**OBSERVED, **given})


def test_readings_have_the_noise_that_is_declared(tmp_path):
    path = tmp_path / "sensed.yaml"
    noise = [1e-3, 2e-3, 3e-3, 0.01, 0.02, 0.03]
    path.write_text(f"{FINGER}sensors:\n  coil: {{pose: {{link: finger}}, noise: {noise}, rate: 25 Hz}}\n"
                    "  bend: {strain: {link: finger, s: 0.5}, noise: 0.5, bias: 0.1}\n")  # fmt: skip
    watch = Session(sorosim.load(path), observe={"noise": None})._observing
    n, z = 400, []
    robot, q = watch.robot, 0.3 * np.arange(1.0, watch.robot.ndof + 1.0)
    true = robot.measure(q)
    for _ in range(n):
        coil, bend = watch._noisy("coil", true["coil"]), watch._noisy("bend", true["bend"])
        turn = Rotation.from_quat(true["coil"][3:], scalar_first=True).inv() * Rotation.from_quat(
            coil[3:], scalar_first=True
        )
        z.append(np.concatenate([
            (coil[:3] - true["coil"][:3]) / noise[:3], turn.as_rotvec() / noise[3:], (bend - true["bend"] - 0.1) / 0.5
        ]))  # fmt: skip
    squares = (np.array(z) ** 2).sum(axis=0)
    low, high = chi2.ppf([1e-6, 1.0 - 1e-6], n)
    assert (squares > low).all()
    assert (squares < high).all()
    state = Session(sorosim.load(path), observe={}).frame(0.2).estimated
    assert state.seen is not None
    times = 0.02 * np.arange(1, 11)
    read = [set(watch._read(robot, SimpleNamespace(t=t, q=robot.initial_q, qd=np.zeros(robot.ndof), u=None)))
            for t in times]  # fmt: skip
    assert [k for k, names in enumerate(read) if "coil" in names] == [1, 3, 5, 7, 9]
    assert all("bend" in names for names in read)
