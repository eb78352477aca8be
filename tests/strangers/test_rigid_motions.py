"""Bodies that spin and travel, and linkages, of public problems."""

import numpy as np
import pytest
from helpers.strangers import assert_right_or_said, load, of_text, simulate
from scipy.integrate import solve_ivp

import sorosim

TIGHT = {"method": "radau", "rtol": 1e-8, "atol": 1e-10}
DEFAULTS = pytest.mark.parametrize(
    "options", [{}, {"method": "generalized-alpha"}], ids=["default", "generalized-alpha"]
)


def compare(agrees, quantity, ours, reference, said, options, *, tight, extent, source, unit="m"):
    """To a tight tolerance where one is asked for, else as defaults have to be."""
    if options == TIGHT:
        agrees(f"{quantity}, rtol 1e-8", ours, reference, atol=tight, source=source, unit=unit)
    else:
        assert_right_or_said(
            agrees,
            f"{quantity}, {options.get('method', 'default')}",
            ours,
            reference,
            said,
            extent=extent,
            source=source,
            unit=unit,
        )


BOTH = pytest.mark.parametrize("options", [{}, TIGHT], ids=["default", "tight"])


def test_the_energy_of_a_pendulum_after_a_hundred_seconds_is_kept_or_its_loss_is_said(agrees):
    robot = of_text(
        "sorosim: 1\nname: p\nlinks: {p: {joint: {revolute: {axis: [0, 1, 0]}}, body: "
        "{point_mass: 1 kg, centre: [1 m, 0, 0]}}}\n"
    )
    run, said = simulate(robot, t_end=100.0)
    # let go on one side, so that its energy is zero where it hangs 9.81 J below
    assert_right_or_said(
        agrees,
        "energy of a pendulum after 100 s",
        run.energy().total[-1],
        run.energy().total[0],
        said,
        extent=9.81,
        source="energy",
        unit="J",
    )


@BOTH
def test_five_bars_with_four_pins_pass_their_flat_pose(agrees, options):
    # while the cranks stay parallel, 3 a'' = 3.5 g sin(a), a from the vertical
    exact = solve_ivp(
        lambda t, y: [y[1], 3.5 * 9.81 / 3 * np.sin(y[0])],
        (0, 10),
        [0.0, 1.0],
        method="DOP853",
        rtol=1e-13,
        atol=1e-13,
        dense_output=True,
    )
    # in its flat pose, first at 0.714 s, it may go on in two ways: rounding decides how near steps come to it
    t_end = 0.7 if options == TIGHT else 10.0
    try:
        run, said = simulate(load("four_bars"), t_end=t_end, **options)
    except sorosim.ConvergenceError as error:
        run, said = error.partial, [str(error)]
        assert options != TIGHT, said
    angle = exact.sol(run.t)[0]
    ours = np.stack([-np.sin(run.q[:, 0]), np.cos(run.q[:, 0])])
    compare(
        agrees,
        "IFToMM A02, N = 2: end of the first crank",
        ours,
        np.stack([np.sin(angle), np.cos(angle)]),
        said,
        options,
        tight=1.5e-7,
        extent=2.0,
        source="equation of one coordinate, DOP853",
    )


ANDREWS = {  # angles at 0.03 s and at the start, test set for IVP solvers
    "k1": (15.81077119629904, -0.0617138900142764496),
    "k2": (-15.75637105984298, 0.0),
    "k3": (0.04082224013073101, 0.455279819163070380),
    "k4": (-0.5347301163226948, 0.222668390165885885),
    "k5": (0.5244099658805304, 0.487364979543842550),
    "k6": (0.5347301163226948, -0.222668390165885885),
    "k7": (1.048080741042263, 1.23054744454982120),
}


def test_accelerations_of_the_squeezer_are_those_of_the_test_set(agrees):
    robot = load("squeezer")
    start = robot.forward_dynamics(robot.initial_q, 0 * robot.initial_q, u=[0.033])
    ours = [start[robot.coordinate_names.index(f"{link}.revolute")] for link in ("k1", "k2")]
    right = [14222.4439199541, -10666.8329399656]
    agrees(
        "Andrews' squeezer: accelerations at rest",
        ours,
        right,
        rtol=1e-11,
        source="test set for IVP solvers",
        unit="rad/s^2",
    )


@BOTH
def test_the_squeezer_ends_where_the_test_set_has_it(agrees, options):
    robot = load("squeezer")
    run, said = simulate(robot, **options)
    at = [robot.coordinate_names.index(f"{link}.revolute") for link in ANDREWS]
    right, start = np.array(list(ANDREWS.values())).T
    compare(
        agrees,
        "Andrews' squeezer: angles at 30 ms",
        start + run.q[-1, at],
        right,
        said,
        options,
        tight=1e-7,
        extent=16.0,
        source="test set for IVP solvers",
        unit="rad",
    )


@BOTH
def test_bricards_mechanism_moves_though_its_conditions_depend_on_each_other(agrees, options):
    right = {
        1: [0.5105014612, -1.6491675994, 0.1401231146],
        2: [-0.9693403448, -1.2212468950, 0.7542780107],
        5: [0.9999999977, -1.0000672579, 0.9999327399],
        10: [0.9999999638, -1.0002690130, 0.9997309508],
    }
    robot = load("bricard")
    run, said = simulate(robot, **options)
    ours = [robot.pose(run.q[100 * t], "r4")[:3, 3] for t in right]
    # Exudyn at two steps, extrapolated: its digits end at 3e-7
    compare(
        agrees,
        "IFToMM A04, Bricard: P3 at 1, 2, 5, 10 s",
        ours,
        list(right.values()),
        said,
        options,
        tight=2e-6,
        extent=2.0,
        source="Exudyn 1.13, extrapolated",
    )


def governor(t, y):
    """Lagrange's equations of the flyball governor in its turn, the height of the slider and the angle of the arms."""
    g, a, stiffness, damping, rod, w, ball = 9.81, 0.05, 8e5, 4e4, 0.3, 0.01, 5.0
    along, across = rod * 2 * w**2 / 12, rod * (1 + w**2) / 12
    _, s, b, turn_rate, s_rate, b_rate = y
    sin, cos = np.sin(b), np.cos(b)
    arms = rod * (a + 0.5 * cos) ** 2 + ball * (a + cos) ** 2 + along * sin**2 + across * cos**2
    inertia = rod * 2 * w**2 / 12 + 3.0 * 0.02 / 12 + 2 * arms
    by_b = 4 * sin * (-0.5 * rod * (a + 0.5 * cos) - ball * (a + cos) + (along - across) * cos)
    x, z = 0.5 * cos, 1 - 0.5 * sin - s
    length, x_rate, z_rate = np.hypot(x, z), -0.5 * sin * b_rate, -0.5 * cos * b_rate - s_rate
    pull = stiffness * (length - 0.5) + damping * (x * x_rate + z * z_rate) / length
    on_slider = 2 * pull * z / length - 3 * g
    on_arms = -2 * pull * (-x * 0.5 * sin - z * 0.5 * cos) / length + 2 * g * (0.5 * rod + ball) * cos
    arm = 2 * (0.25 * rod + ball + across)
    return [
        turn_rate,
        s_rate,
        b_rate,
        -by_b * b_rate * turn_rate / inertia,
        on_slider / 3.0,
        (on_arms + 0.5 * by_b * turn_rate**2) / arm,
    ]


@BOTH
def test_the_stiff_governor_rises_as_lagranges_equations_have_it(agrees, options):
    start = [0, 0.5, np.pi / 6, 2 * np.pi, 0, 0]
    exact = solve_ivp(governor, (0, 10), start, method="Radau", rtol=1e-10, atol=1e-12, dense_output=True)
    robot = load("governor")
    run, said = simulate(robot, **options)
    height = 0.5 + run.q[:, robot.coordinate_names.index("slider.prismatic")]
    compare(
        agrees,
        "IFToMM A05, governor: height of the slider",
        height,
        exact.sol(run.t)[1],
        said,
        options,
        tight=5e-7,
        extent=0.5,
        source="Lagrange's equations, Radau 1e-10",
    )


def tumbling(t, y):
    """Euler's equations and the quaternion of a body without moments."""
    inertia, w, (q0, q1, q2, q3) = np.array([0.03, 0.05, 0.07]), y[:3], y[3:]
    turn = np.array([[-q1, -q2, -q3], [q0, -q3, q2], [q3, q0, -q1], [-q2, q1, q0]])
    return np.concatenate([-np.cross(w, inertia * w) / inertia, 0.5 * turn @ w])


@pytest.mark.slow  # `validation/test_rigid_motion` has fewer flips
def test_a_body_that_tumbles_about_its_middle_axis_flips_as_eulers_equations_have_it(agrees):
    from scipy.spatial.transform import Rotation

    exact = solve_ivp(tumbling, (0, 60), [0.01, 10, 0, 1, 0, 0, 0], method="DOP853", rtol=1e-13, atol=1e-14)
    right = Rotation.from_quat(exact.y[3:, -1], scalar_first=True).as_matrix()
    run, _ = simulate(load("tumbling_body"), method="cvode", rtol=1e-12, atol=1e-14)
    # 95 turns and 20 flips; each flip leaves the unstable axis and comes back
    agrees(
        "tumbling body: rotation after 60 s, rtol 1e-12",
        run.robot.pose(run.q[-1], "nut")[:3, :3],
        right,
        atol=5e-5,
        source="Euler's equations, DOP853 1e-13",
    )


FLIGHT = """
sorosim: 1
name: flight
gravity: [0, 0, {gravity}]
links: {{body: {{joint: free, body: {shape}}}}}
initial: {{body: {{velocity: {velocity}, angular_velocity: {spin}}}}}
simulate: {{t_end: {t_end}, dt_out: 10 ms}}
"""
THROWN = {
    "a ball of 2 m/s and 20 rad/s": ("{sphere: {radius: 10 cm}, mass: 1 kg}", 0, [2, 0, 0], [0, 20, 0], 10),
    "a tennis ball of 20 m/s and 50 turns a second": (
        "{sphere: {radius: 33 mm}, mass: 58 g}",
        0,
        [20, 0, 0],
        [0, 314, 0],
        1,
    ),
    "a box of 10 m/s and 2 turns a second": (
        "{box: {size: [10 cm, 20 cm, 30 cm]}, mass: 1 kg}",
        -9.81,
        [10, 0, 10],
        [3, 12, 4],
        2,
    ),
    "a drone of 10 m/s that yaws": ("{box: {size: [30 cm, 30 cm, 8 cm]}, mass: 1.5 kg}", 0, [10, 0, 0], [0, 0, 1], 10),
}


@DEFAULTS
@pytest.mark.parametrize("what", THROWN)
def test_what_spins_and_travels_flies_along_its_parabola(agrees, what, options):
    shape, gravity, velocity, spin, t_end = THROWN[what]
    robot = of_text(FLIGHT.format(gravity=gravity, shape=shape, velocity=velocity, spin=spin, t_end=t_end))
    run, _ = simulate(robot, **options)
    right = np.multiply(velocity, t_end) + np.array([0, 0, gravity * t_end**2 / 2])
    # translation and rotation are stages of their own: a parabola is a polynomial that every step follows
    agrees(
        f"{what}: place at the end, {options.get('method', 'default')}",
        robot.pose(run.q[-1], "body")[:3, 3],
        right,
        atol=1e-6,
        source="free flight",
        unit="m",
    )


def chain(n):
    links = [
        f"  h{i}: {{{'' if i == 0 else f'parent: h{i - 1}, at: {{position: [0, 0, -0.4]}}, '}joint: {{revolute: "
        "{axis: [0, 1, 0]}}, body: {mass: 1 kg, centre: [0, 0, -20 cm], inertia: [0.0134, 0.0134, 0.001]}}"
        for i in range(n)
    ]
    return of_text("\n".join(["sorosim: 1", "name: chain", "links:", *links, "initial: {h0.revolute: 1.5}", ""]))


@pytest.mark.parametrize("method", ["generalized-alpha", "newmark"])
@pytest.mark.parametrize(("hinges", "dt"), [(6, 2), (6, 5), (4, 10), (3, 20)])
def test_steps_of_a_chain_of_hinges_gain_no_energy(hinges, dt, method):
    robot = chain(hinges)
    stepper = sorosim.Stepper(robot, f"{dt} ms", method=method)
    stepper.reset()
    first = robot.energy(stepper.state.q, stepper.state.qd).total
    deepest = 9.81 * 0.4 * hinges**2 / 2  # how far all may fall
    for _ in range(round(8000 / dt)):
        try:
            state = stepper.step()
        except sorosim.ConvergenceError as error:
            assert "simulate" in str(error), error  # noqa: PT017 - a step that cannot be taken says what to try
            return
        assert robot.energy(state.q, state.qd).total - first < deepest


def test_a_swimmer_that_simulate_moves_is_moved_by_steps_of_the_same_length():
    robot = load("eel")
    stepper = sorosim.Stepper(robot, "5 ms")
    stepper.reset()
    inputs = robot.description.simulate["u"]
    run = sorosim.simulate(robot, t_end=4.0, method="generalized-alpha", step="5 ms")
    for k in range(800):
        state = stepper.step(u=[run.u[round(k * len(run.t) / 800), i] for i in range(len(inputs))])
    far = np.linalg.norm(run.tip()[-1] - run.tip()[0])
    # inputs that are held for 5 ms are late by 2.5 ms of a period of 667
    assert np.linalg.norm(robot.pose(state.q, "eel")[:3, 3] - run.tip()[-1]) < 0.05 * max(far, 0.4)


def lift(stages=3, length=1.0, angle=0.6108652381980153, weight=200.0):
    """A scissor lift: hinges in space, so most conditions of its loops depend on each other."""
    x, turn = length * np.cos(angle), lambda a: {"axis": [0, 1, 0], "angle": float(a)}
    pin = {"revolute": {"axis": [0, 1, 0]}}
    arm = {"mass": 2, "centre": [0.5, 0, 0], "inertia": [1e-3, 0.17, 0.17]}
    end = {"position": [1, 0, 0]}
    links = {
        "slider": {
            "at": {"position": [x, 0, 0]},
            "joint": {"prismatic": {"axis": [1, 0, 0]}},
            "body": {"mass": 1, "inertia": [1e-3] * 3},
        }
    }
    for k in range(stages):
        up = (
            {"at": {"rotation": turn(-angle)}}
            if k == 0
            else {"parent": f"down{k - 1}", "at": end | {"rotation": turn(np.pi - 2 * angle)}}
        )
        down = (
            {"parent": "slider", "at": {"rotation": turn(angle - np.pi)}}
            if k == 0
            else {"parent": f"up{k - 1}", "at": end | {"rotation": turn(2 * angle - np.pi)}}
        )
        links |= {f"up{k}": up | {"joint": pin, "body": arm}, f"down{k}": down | {"joint": pin, "body": arm}}
    last = stages - 1
    plate = {"mass": weight / 9.81, "centre": [x / 2, 0, 0], "inertia": [1, 1, 1]}
    links["platform"] = {
        "parent": f"down{last}",
        "at": end | {"rotation": turn(np.pi - angle)},
        "joint": pin,
        "body": plate,
    }
    roller = {"mass": 0.5, "inertia": [1e-4] * 3}
    links["roller"] = {"parent": f"up{last}", "at": end | {"rotation": turn(angle)}, "joint": pin, "body": roller}
    middle = {"at": {"position": [0.5, 0, 0]}}
    loops = {
        f"middle{k}": {"joint": pin, "from": {"link": f"up{k}"} | middle, "to": {"link": f"down{k}"} | middle}
        for k in range(stages)
    }
    loops["top"] = {
        "joint": {"prismatic": {"axis": [1, 0, 0]}},
        "from": {"link": "roller"},
        "to": {"link": "platform", "at": {"position": [x, 0, 0]}},
    }
    robot = sorosim.load({"sorosim": 1, "name": "lift", "links": links, "loops": loops})

    def force(a):  # virtual work
        arms = sum(4 * 9.81 * (k + 0.5) for k in range(stages))
        return -(weight * stages + 0.5 * 9.81 * stages + arms) * np.cos(a) / np.sin(a)

    return robot, x, force


def test_a_scissor_lift_is_held_by_the_force_of_virtual_work(agrees):
    robot, x, force = lift()
    eq = sorosim.statics(robot, driven={"slider": 0.0})
    agrees(
        "scissor lift: force that holds it",
        sum(eq.driven.values()),
        force(np.radians(35.0)),
        rtol=1e-9,
        source="virtual work",
        unit="N",
    )
    run = sorosim.simulate(robot, t_end=3, driven={"slider": "-0.2*smoothstep(t/2)*(1 m)"}, method="generalized-alpha")
    agrees(
        "scissor lift: height when driven in",
        robot.pose(run.q[-1], "platform")[2, 3],
        3 * np.sin(np.arccos(x - 0.2)),
        rtol=1e-6,
        source="geometry",
        unit="m",
    )


CAD = """
sorosim: 1
name: cad four-bar
gravity: [0, -9.81, 0]
links:
  crank: {at: {rotation: {axis: [0, 0, 1], angle: 1.2}}, joint: {revolute: {axis: [0, 0, 1]}},
          body: {mass: 1 kg, centre: [10 cm, 0, 0], inertia: [1e-3, 4e-3, 4e-3]},
          frames: {end: {position: [0.2, 0, 0], rotation: {axis: [0, 0, 1], angle: -0.9}}}}
  coupler: {parent: crank, at: {frame: end}, joint: {revolute: {axis: [0, TILT, 1]}},
            body: {mass: 2 kg, centre: [25 cm, 0, 0], inertia: [1e-3, 4e-2, 4e-2]}}
  rocker: {at: {position: [0.45, 0, 0], rotation: {axis: [0, 0, 1], angle: 1.4336}},
           joint: {revolute: {axis: [0, 0, 1]}},
           body: {mass: 1.5 kg, centre: [18 cm, 0, 0], inertia: [1e-3, 2e-2, 2e-2]}}
loops:
  pin: {joint: {revolute: {axis: [0, 0, 1]}}, from: {link: coupler, at: {position: [0.5, 0, 0]}},
        to: {link: rocker, at: {position: [0.36, 0, 0]}}}
simulate: {t_end: 2 s, q0: assembled}
"""


@pytest.mark.parametrize("method", ["radau", "bdf", "cvode", "lsoda", "ida"])
def test_a_four_bar_of_cad_swings_as_at_a_tight_tolerance_or_the_run_says_otherwise(agrees, method):
    robot = of_text(CAD.replace("TILT", "0"))
    exact = sorosim.simulate(robot, **TIGHT)
    run, said = simulate(robot, method=method)
    assert_right_or_said(
        agrees,
        "four-bar of CAD: crank after 2 s",
        run.q[-1, 0],
        exact.q[-1, 0],
        said,
        extent=1.0,
        source="radau at rtol 1e-8",
        unit="rad",
    )


def test_a_linkage_that_a_tilted_hinge_locks_says_so():
    _, said = simulate(of_text(CAD.replace("TILT", "1e-4")))
    assert any("lock" in one or "freedom" in one or "does not move" in one for one in said), said
