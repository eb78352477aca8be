"""What a run says of its energy, of bounces, of friction that creeps and of linkages that are locked."""

import warnings

import numpy as np
import pytest

import sorosim
from sorosim.analysis.motion import balance
from sorosim.analysis.results.result import EnergyHistory
from sorosim.base.errors import SorosimWarning
from sorosim.files import load_text

SPRING = {"gravity": [0, 0, 0], "initial": {"ball.prismatic": "10 cm"},
          "links": {"ball": {"joint": {"prismatic": {"axis": [1, 0, 0], "stiffness": "100 N/m", "damping": "2 N*s/m"}},
                             "body": {"sphere": {"radius": "5 cm"}, "mass": "1 kg"}}}}  # fmt: skip
BALL = {"initial": {"ball.prismatic": "35 cm"},
        "links": {"ball": {"joint": {"prismatic": {"axis": [0, 0, 1]}},
                           "body": {"sphere": {"radius": "5 cm"}, "mass": "0.3 kg"}}}}  # fmt: skip
TWO_BALLS = {
    "links": {name: {"at": {"position": [x, 0, 0]}, **BALL["links"]["ball"]} for name, x in (("a", 0), ("b", 1))}
}
ON_FLOOR = {"floor": {"contact": {"between": ["a", "b"], "and": {"half_space": {}}, "stiffness": 1e5}}}
FOUR_BAR = """sorosim: 1
name: four-bar
gravity: [0, -9.81, 0]
links:
  crank: {joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 1 kg, centre: [10 cm, 0, 0], inertia: [1e-3, 4e-3, 4e-3]}}
  coupler: {parent: crank, at: {position: [0.2, 0, 0]}, joint: {revolute: {axis: [0, TILT, 1]}},
    body: {mass: 2 kg, centre: [20 cm, 0, 0], inertia: [1e-3, 4e-2, 4e-2]}}
  rocker: {at: {position: [0.6, -0.3, 0], rotation: {axis: [0, 0, 1], angle: 90 deg}},
    joint: {revolute: {axis: [0, 0, 1]}}, body: {mass: 1.5 kg, centre: [15 cm, 0, 0], inertia: [1e-3, 2e-2, 2e-2]}}
loops: {pin: {joint: {revolute: {axis: [0, 0, 1]}}, from: {link: coupler, at: {position: [0.4, 0, 0]}},
  to: {link: rocker, at: {position: [0.3, 0, 0]}}}}
"""


def made(parts, **more):
    return sorosim.load({"sorosim": 1, "name": "robot", **parts, **more})


def said(robot, *arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SorosimWarning)
        run = sorosim.simulate(robot, *arguments, **options)
    return run, " ".join(str(one.message) for one in caught)


def test_energy_that_appears_late_is_compared_with_what_moves_then(monkeypatch):
    """The oscillator has lost all but 1e-4 of its energy in its second half: an error of that size counts there."""
    run = sorosim.simulate(made(SPRING), 8.0, rtol=1e-6, atol=1e-12)
    assert balance.imbalance(run) == ""
    truth = EnergyHistory._make(run.energy())
    late = np.where(run.t > 6.0, 0.5 * truth.kinetic[run.t > 6.0].max(), 0.0)
    assert late.max() < 0.01 * balance.SAFETY * np.sqrt(1e-6) * truth.turnover
    monkeypatch.setattr(type(run), "energy", lambda self: EnergyHistory(
        *(np.interp(self.t, run.t, part + (extra if i == 0 else 0.0)) for i, (part, extra) in
          enumerate(zip(truth, [late, 0, 0, 0, 0], strict=True)))))  # fmt: skip
    words = balance.imbalance(run)
    assert words.startswith("the energy balance is off by")
    assert " from " in words


def test_rounding_of_energies_is_no_imbalance(monkeypatch):
    """What rests moves no energy; that of gravity, 1 J, is known to some bits, and so is its balance."""
    run = sorosim.simulate(made(SPRING), 1.0, rtol=1e-6, atol=1e-30)
    zero = np.zeros_like(run.t)
    for error, is_told in ((1e-15, False), (1e-12, True)):
        energies = EnergyHistory(error * np.sin(run.t), zero, zero + 1.0, zero, zero)
        monkeypatch.setattr(type(run), "energy", lambda self, energies=energies: EnergyHistory(
            *(np.interp(self.t, run.t, part) for part in energies)))  # fmt: skip
        assert bool(balance.imbalance(run)) == is_told


def test_an_undamped_pendulum_that_gains_energy_is_told():
    links = {"arm": {"joint": {"revolute": {"axis": [0, 1, 0]}},
                     "body": {"mass": "1 kg", "centre": [0, 0, "-1 m"], "inertia": [1e-3, 1e-3, 1e-3]}}}  # fmt: skip
    robot = made({"links": links, "initial": {"arm.revolute": 1.0}})
    run, words = said(robot, 60.0, dt_out="0.05 s", method="bdf", rtol=1e-3, atol=1e-6)
    off = np.abs(run.energy().balance).max() / run.energy().kinetic.max()
    assert off > balance.SAFETY * np.sqrt(1e-3)
    assert "the energy balance is off by" in words


class Ground:
    """Touches what is below zero."""

    def touching(self, q):
        return {(0, 0, -1)} if q[0] < 0.0 else set()


@pytest.mark.parametrize(("n", "short"), [(2, True), (3, False)])
def test_a_bounce_of_fewer_than_three_states_is_counted(n, short):
    count = balance.Bounces(Ground())
    q = np.concatenate([[1.0, 0.5], np.full(n, -0.1), [0.5, 1.0]])[:, None]
    qd = np.concatenate([[-1.0, -1.0], np.zeros(n), [1.0, 1.0]])[:, None]
    count.follow(0.1 * np.arange(len(q)), q, qd)
    assert (count.n, count.n_short) == (1, int(short))
    assert ("a bounce, at t = 0.1 s first" in count.words) == short


def test_what_grazes_and_goes_on_is_no_bounce():
    count = balance.Bounces(Ground())
    count.follow(np.arange(3.0), np.array([[1.0], [-0.1], [1.0]]), np.full((3, 1), 2.0))
    assert count.words == ""


@pytest.mark.slow
def test_energy_that_a_stiff_bounce_makes_is_told_at_any_tolerance():
    """Of a spring of constant stiffness without an onset, whose force jumps in slope, Radau's method sees little.

    The bounce takes pi sqrt(m/k) = 0.5 ms, less than a step at these tolerances; an error of atol at the height of the
    impact, 4 kN, is no excuse. Last digits decide whether a step meets the bounce: nothing is certain of one run.
    """
    robot = made(BALL, loads={"floor": {"contact": {"between": "ball", "and": {"half_space": {}}, "stiffness": 1e7,
                                                    "exponent": 1}}})  # fmt: skip
    n_short, n_off = 0, {1e-4: 0, 1e-3: 0}
    for height in np.linspace(0.35, 0.36, 24):
        for atol in n_off:
            run, words = said(robot, 1.0, method="radau", rtol=1e-3, atol=atol, q0=[height])
            energy = run.energy()
            n_short += "showed in less than 3 states of the steps" in words
            if np.abs(energy.balance).max() > 0.8 * energy.kinetic[run.t < 0.2].max():
                n_off[atol] += 1
                assert "the energy balance is off by" in words
    # of 100 runs some 40 are so far off, and 20 bounce within a step
    assert all(n_off.values())
    assert n_short


def test_what_bounces_while_another_thing_rests_is_counted_by_itself():
    count = balance.Bounces(made({**TWO_BALLS, "loads": ON_FLOOR}).engine)
    z = np.array([0.02, 0.01, -1e-4, -1e-4, 0.01, 0.02])  # of the second; the first one rests in the floor
    q = np.column_stack([np.full(6, 0.05 - 1e-5), 0.05 + z])
    qd = np.column_stack([np.zeros(6), [-1.0, -1.0, 0.0, 0.0, 1.0, 1.0]])
    times = 0.1 * np.arange(6)
    for first, last in ((0, 3), (2, 6)):  # the end of a step is the start of the next one
        count.follow(times[first:last], q[first:last], qd[first:last])
    assert (count.n, count.n_short) == (1, 1)
    assert count.first == pytest.approx(0.1)


@pytest.mark.parametrize(
    "options", [{"method": "generalized-alpha", "step": "5 ms"}, {"method": "newmark", "step": "5 ms"}]
)
def test_bounces_within_steps_of_a_given_size_are_told(options):
    """The bounce takes pi sqrt(m/k) = 5.4 ms."""
    robot = made(BALL, loads={"floor": {"contact": {"between": "ball", "and": {"half_space": {}}, "stiffness": 1e5,
                                                    "exponent": 1}}})  # fmt: skip
    assert "showed in less than 3 states of the steps" in said(robot, 0.6, **options)[1]
    assert "showed in less than 3" not in said(robot, 0.6, **{**options, "step": "0.5 ms"})[1]


@pytest.mark.parametrize(("n", "short"), [(2, True), (3, False)])
def test_a_joint_that_bounces_off_its_stop_is_counted(n, short):
    joint = {"prismatic": {"axis": [0, 0, 1], "limits": {"low": "5 cm", "high": "1 m", "stiffness": "1e5 N/m"}}}
    free = {"prismatic": {"axis": [1, 0, 0]}}
    ball = BALL["links"]["ball"]["body"]
    engine = made(
        {"links": {"guide": {"joint": free}, "ball": {"parent": "guide", "joint": joint, "body": ball}}}
    ).engine
    assert engine.may_bounce
    z = np.concatenate([[0.07, 0.06], np.full(n, 0.05 - 1e-4), [0.06, 0.07]])
    q = np.column_stack([-z, z])
    qd = np.column_stack([np.full(n + 4, 10.0), np.concatenate([[-1.0, -1.0], np.zeros(n), [1.0, 1.0]])])
    count = balance.Bounces(engine)
    count.follow(0.1 * np.arange(n + 4), q, qd)  # however fast the guide moves
    assert (count.n, count.n_short) == (1, int(short))
    assert not made(BALL).engine.may_bounce


@pytest.mark.parametrize("tilt", [0.0, 1e-2])
def test_a_linkage_that_is_locked_is_told(tilt):
    """Hinges whose axes are not parallel leave a four-bar no freedom."""
    robot = load_text(FOUR_BAR.replace("TILT", str(tilt)), "four_bar.yaml")
    run, words = said(robot, 0.2)
    assert (np.ptp(run.q, axis=0).max() < 1e-3) == bool(tilt)
    assert ("the loops leave no freedom, so nothing moves" in words) == bool(tilt)


@pytest.mark.parametrize(("rtol", "told"), [(1e-2, True), (1e-6, False)])
def test_a_slip_below_the_tolerance_of_rates_is_told(rtol, told):
    """A ball that rolls: errors of its rates are larger than the slip that carries it."""
    ball = {"joint": {"planar": {"axis": [0, 1, 0]}}, "body": {"sphere": {"radius": "10 cm"}, "mass": "1 kg"},
            "at": {"position": [0, 0, "99.9 mm"]}}  # fmt: skip
    floor = {"between": "ball", "and": {"half_space": {}}, "stiffness": 1e5, "damping": 0.3, "friction": 0.5,
             "slip_speed": "1 mm/s"}  # fmt: skip
    robot = made({"links": {"ball": ball}, "gravity": [1.0, 0, -9.81], "loads": {"floor": {"contact": floor}}})
    words = said(robot, 1.0, rtol=rtol, atol=1e-9)[1]
    assert ("whether 'floor' sticks or creeps is not told: its slip_speed, 1 mm/s" in words) == told
