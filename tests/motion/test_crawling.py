"""Runs that would take hours for nothing end by themselves, with what they have; limits of steps and of the clock."""

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import ConvergenceError, InputError
from sorosim.base.methods import METHODS
from sorosim.files import load_text
from tests.helpers.arms import rubber_arm

# an implausible run goes on while it seems to need up to 1e5 steps more
MOST = 200_000
slow = pytest.mark.slow


def every_method(*fast):
    """All methods, those that are not among the named ones in the slow suite."""
    return pytest.mark.parametrize("method", [m if m in fast else pytest.param(m, marks=slow) for m in METHODS])


def ended(robot, **options):
    """The error of a run that ends early, None if it comes to its end; in either case within its limit of work."""
    caught = None
    try:
        run = sorosim.simulate(robot, **options)
    except ConvergenceError as error:
        run, caught = error.partial, error
    if caught is not None:
        assert np.isfinite(run.q).all()
        assert run.t[-1] < run.options["t_end"]
        assert caught.report.where in robot.coordinate_names
    assert run.stats.get("n_steps", run.stats["n_rhs"]) <= MOST  # cvode and ida do not tell their steps
    return caught


@every_method("cvode", "newmark")
def test_ten_million_newtons_on_a_tendon(method):
    error = ended(sorosim.load("cable_manipulator"), t_end=10.0, u={"cable1": 1e7}, method=method)
    assert error.partial.t[-1] < 0.01
    if method != "lsoda" or "at this pace" in str(error):  # it may lose the state before
        assert "at this pace the rest takes" in str(error)
        # ida stops where the rod holds against the cable already
        most = "stiffness and damping" if method == "ida" else "forces of the actuator 'cable1'"
        assert f"where {most} act most" in str(error)
        assert f"steps follow a motion of '{error.report.where}' of 'arm'" in str(error)
    assert "'arm' is strained by" in str(error)
    assert "look at the units of inputs and loads" in str(error)


@pytest.mark.filterwarnings("ignore:.*'arm' is strained by")
@pytest.mark.filterwarnings("ignore:.*the energy balance is off")  # generalized-alpha damps what it does not resolve
@pytest.mark.filterwarnings("ignore:.*steps follow a motion of 'arm")
@every_method("generalized-alpha")
def test_a_meganewton_on_a_rubber_arm(method):
    robot = sorosim.load(rubber_arm(), set={"loads": {"push": {"wrench": {"link": "arm", "force": [0, 0, -1e6]}}}})
    error = ended(robot, t_end=10.0, method=method)
    if error is not None and "at this pace" in str(error):
        assert "where forces of the load 'push' act most" in str(error) or "'arm' is strained" in str(error)


# what ends may say that its energies do not balance: no error estimate sees what happens inside of such a contact
@pytest.mark.filterwarnings("ignore:.*the energy balance is off")
@pytest.mark.filterwarnings("ignore:.*bounces, at")
@every_method("cvode")
def test_a_contact_of_1e12(method):
    robot = sorosim.load("jumping_lamp", set={"loads.ground.contact.stiffness": 1e12})
    error = ended(robot, method=method)
    if error is not None and "at this pace" in str(error):
        assert "loads.ground: stiffness 1e+12 N/m^1.5 makes steps short, about 4e+06 N/m^1.5 is enough" in str(error)
    assert error is not None or method not in ("bdf", "radau", "cvode")


def test_newmarks_growing_multipliers():
    error = ended(sorosim.load("four_bar"), t_end=100.0, method="newmark")
    assert "at this pace the rest takes" in str(error)
    assert "the multipliers of the loops swing by" in str(error)
    assert "method='generalized-alpha' does" in str(error)


def test_a_method_of_order_2_at_the_last_digits():
    robot = sorosim.load("cable_manipulator")
    error = ended(robot, t_end=10.0, method="newmark", rtol=2.3e-14, atol=1e-16)
    assert "rtol = 2.3e-14 is too small for a method of order 2: method='radau' takes far fewer steps" in str(error)


@pytest.mark.parametrize("method", METHODS)
def test_max_steps_end_a_run_which_can_be_taken_up_again(method, tmp_path):
    robot, options = sorosim.load(rubber_arm()), {"t_end": 0.2, "u": {"pull": "2*sin(20*t)"}, "method": method}
    whole = sorosim.simulate(robot, **options)
    out = tmp_path / "run.h5"
    with pytest.raises(ConvergenceError, match=r"it has taken max_steps = 10 steps; there") as caught:
        sorosim.simulate(robot, **options, max_steps=10, out=out)
    run = caught.value.partial
    assert 0.0 < run.t[-1] < 0.2
    assert caught.value.report.t == run.t[-1]
    assert run.stats.get("n_steps", 10) == 10
    assert "sorosim.resume goes on from there" in str(caught.value)
    with pytest.raises(ConvergenceError) as again:  # steps are the same each time
        sorosim.simulate(robot, **options, max_steps=10)
    assert np.array_equal(again.value.partial.q, run.q)
    for start in (run, out):  # the limit counts anew, and the new one stands in the result
        longer = sorosim.resume(start, max_steps=1e5)
        assert longer.t[-1] == 0.2
        assert longer.options["max_steps"] == 1e5
        assert np.abs(longer.q[-1] - whole.q[-1]).max() < 0.05 * np.abs(whole.q).max()
    with pytest.raises(ConvergenceError, match="max_steps = 10"):
        sorosim.resume(run)


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha"])
def test_max_steps_count_between_rows_where_python_computes_inputs(method):
    options = {"dt_out": 0.2, "u": {"pull": lambda t: 2.0 * np.sin(20.0 * t)}, "method": method, "max_steps": 10}
    with pytest.raises(ConvergenceError, match=r"it has taken max_steps = 10 steps") as caught:
        sorosim.simulate(sorosim.load(rubber_arm()), 0.2, **options)
    assert caught.value.partial.stats["n_steps"] == 10


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_of_the_clock_ends_a_run(method):
    with pytest.raises(ConvergenceError, match=r"max_wall_time = 1e-09 s is over") as caught:
        sorosim.simulate(
            sorosim.load(rubber_arm()), 100.0, u={"pull": "2*sin(20*t)"}, method=method, max_wall_time=1e-9
        )
    assert caught.value.partial.t[-1] < 100.0


def test_limits_that_are_none_are_refused():
    robot = sorosim.load("pendulum")
    for name, value in (("max_steps", 0), ("max_steps", "many"), ("max_wall_time", 0.0), ("max_wall_time", np.nan)):
        with pytest.raises(InputError, match=name):
            sorosim.simulate(robot, 0.1, **{name: value})


ROPE_ON_FLOOR = """sorosim: 1
name: lowered rope
materials: {rubber: {young: 1 MPa, poisson: 0.5, density: 1000 kg/m^3, damping: 1 kPa*s}}
links:
  hand:
    joint: {prismatic: {axis: [0, 0, 1]}}
    at: {position: [0, 0, 1.05]}
    body: {mass: 0.1, inertia: [1e-4, 1e-4, 1e-4]}
  rope:
    parent: hand
    at: {rotation: {axis: [0, 1, 0], angle: 90 deg}}
    joint: spherical
    rod:
      length: 1 m
      divisions: 20
      section: {circle: {radius: 5 mm}}
      material: rubber
      strain: {bending: 0, torsion: 0, elongation: 0}
loads:
  floor:
    contact: {between: rope, and: {half_space: {}}, ends: round, stiffness: 1e5, damping: 1, friction: 0.5,
              slip_speed: 1 mm/s}
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* bounces, at")
@pytest.mark.parametrize("spectral_radius", [0.8, 0.5])
def test_a_looser_tolerance_does_not_crawl_where_friction_sets_in(spectral_radius):
    rope = load_text(ROPE_ON_FLOOR, "rope.yaml")
    # a tight atol would set the steps whatever rtol is, and the edge of a flat end has a force of its own
    options = {
        "method": "generalized-alpha",
        "spectral_radius": spectral_radius,
        "driven": {"hand": "-0.3*t"},
        "atol": 1e-6,
    }
    tight, loose = (sorosim.simulate(rope, 0.8, rtol=rtol, **options) for rtol in (1e-3, 0.1))
    # steps that Newton's method could not solve were cut to a quarter and doubled twice, for ever: 3742 steps, not 622
    assert loose.stats["n_steps"] < 1.5 * tight.stats["n_steps"]
    assert loose.stats["n_rhs"] < 1.5 * tight.stats["n_rhs"]


def stiff_shaft():
    """Steel without damping that is shaken: its fast modes hardly decay."""
    return sorosim.load({
        "sorosim": 1, "name": "shaft", "gravity": [0, 0, 0],
        "materials": {"steel": {"young": 2e11, "poisson": 0.0, "density": 100}},
        "links": {
            "drive": {"joint": {"revolute": {"axis": [0, 1, 0]}}},
            "shaft": {"parent": "drive", "rod": {"length": 1, "section": {"rectangle": {"y": 0.01, "z": 0.01}},
                      "material": "steel", "strain": {"bending": 3, "elongation": 1}}},
        },
    })  # fmt: skip


@pytest.mark.parametrize("method", ["bdf", "cvode"])
def test_a_method_of_many_steps_that_follows_an_undamped_rod_names_those_that_do_not(method, monkeypatch):
    options = {"method": method, "driven": {"drive": "0.01*sin(30*t)"}}
    with pytest.raises(ConvergenceError, match="method='generalized-alpha' or 'radau' may pass over"):
        sorosim.simulate(stiff_shaft(), 1.0, **options, max_steps=300)
    monkeypatch.setattr("sorosim.analysis.motion.integration.MANY_STEPS", 200)
    with pytest.warns(sorosim.SorosimWarning, match=r"steps follow a motion of .* with a period of .* or 'radau'"):
        sorosim.simulate(stiff_shaft(), 0.02, **options, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", ["bdf", "lsoda"])
def test_many_steps_that_the_tolerances_ask_for_are_told_so(method, monkeypatch):
    """What turns once in a second is the motion itself: no method may pass over it."""
    monkeypatch.setattr("sorosim.analysis.motion.integration.MANY_STEPS", 200)
    body = {"mass": "1 kg", "centre": [0, 0, "-25 cm"], "inertia": [1e-3, 2e-3, 3e-3]}
    arm = {"joint": {"revolute": {"axis": [0, 1, 0]}}, "body": body}
    robot = sorosim.load({"sorosim": 1, "name": "pendulum", "links": {"arm": arm}, "initial": {"arm.revolute": 1.0}})
    with pytest.warns(sorosim.SorosimWarning, match=r"steps a period are what rtol=1e-11 and atol=1e-13 ask for"):
        sorosim.simulate(robot, 3.0, method=method, rtol=1e-11, atol=1e-13)


def test_many_steps_that_the_longest_one_asks_for_are_not_told(monkeypatch, recwarn):
    monkeypatch.setattr("sorosim.analysis.motion.integration.MANY_STEPS", 200)
    body = {"mass": "1 kg", "centre": [0, 0, "-25 cm"], "inertia": [1e-3, 2e-3, 3e-3]}
    arm = {"joint": {"revolute": {"axis": [0, 1, 0]}}, "body": body}
    robot = sorosim.load({"sorosim": 1, "name": "pendulum", "links": {"arm": arm}, "initial": {"arm.revolute": 1.0}})
    sorosim.simulate(robot, 3.0, method="bdf", rtol=1e-3, atol=1e-4, max_step="2 ms")
    assert not [one for one in recwarn if "steps by bdf" in str(one.message)]


def test_a_method_of_many_steps_says_nothing_where_motions_decay(monkeypatch, recwarn):
    monkeypatch.setattr("sorosim.analysis.motion.integration.MANY_STEPS", 10)
    sorosim.simulate(sorosim.load(rubber_arm()), 0.2, u={"pull": 0.5}, method="bdf")
    assert not [one for one in recwarn if "steps by bdf" in str(one.message)]
