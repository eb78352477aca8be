"""Motion of materials that relax: closed forms, complex moduli, energies, derivatives, runs that are taken up again.

A bar that only stretches is a linear oscillator of one coordinate, M q'' + K (q + sum c_i d_i) = F.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm

import sorosim
from sorosim.analysis.equations.system import OdeSystem
from sorosim.analysis.motion.index2 import StabilisedIndex2
from sorosim.analysis.motion.stepper import StepState
from sorosim.base.writing import journal_of
from sorosim.files.journal import MAGIC
from sorosim.mechanics.engine import engine as engines
from sorosim.mechanics.engine.prescribed import Prescribed
from sorosim.mechanics.testing.differences import jacobian
from sorosim.view.interactive.recording import Recording

E, RADIUS, L, DENSITY = 1e6, 0.01, 0.2, 1000.0
AREA = np.pi * RADIUS**2
ONE = [{"share": 0.4, "time": 0.05}]
TWO = [{"share": 0.3, "time": 0.02}, {"share": 0.2, "time": 0.3}]
OWN = ["newmark", "generalized-alpha"]
series = pytest.mark.parametrize("terms", [ONE, TWO], ids=["one", "two"])


def rod(terms=TWO, strain=None, force=(0, 0, 0), gravity=(0, 0, 0), density=DENSITY, links=None, damping=0.0, **more):
    """A rod along x with a dead force at its tip; by default a bar that stretches alike everywhere."""
    relaxation = {"terms": terms, **{name: more.pop(name) for name in ("moduli", "equilibria") if name in more}}
    return sorosim.load({
        "sorosim": 1, "name": "rod", "gravity": list(gravity),
        "materials": {"m": {
            "young": E, "poisson": 0.5, "density": density, "damping": damping, "relaxation": relaxation,
        }},
        "links": {"rod": {"rod": {
            "length": L, "section": {"circle": {"radius": RADIUS}}, "material": "m",
            "strain": strain or {"elongation": 0},
        }}, **(links or {})},
        **{"loads": {"tip": {"wrench": {"link": "rod", "force": list(force)}}}, **more},
    })  # fmt: skip


def shares_and_times(terms):
    return np.array([term["share"] for term in terms]), np.array([term["time"] for term in terms])


def modulus(terms, s):
    """E(s) over the instantaneous modulus; at s = i omega the complex modulus E' + i E''."""
    g, tau = shares_and_times(terms)
    return 1.0 - g.sum() + np.sum(g * s * tau / (1.0 + s * tau))


def oscillator(terms, mass, stiffness):
    """dx/dt = A x of [q, qd, d] for a mass on the material; stiffness: the instantaneous one."""
    g, tau = shares_and_times(terms)
    n = len(g)
    A = np.zeros((2 + n, 2 + n))
    A[0, 1], A[2:, 1] = 1.0, 1.0
    A[1, 0], A[1, 2:] = -stiffness * (1.0 - g.sum()) / mass, -stiffness * g / mass
    A[2:, 2:] = -np.diag(1.0 / tau)
    return A


MASS, STIFFNESS = DENSITY * AREA * L**3 / 3.0, E * AREA * L  # of the bar, by its strain


FORCE = 5.0


def light_bar(terms):
    """A loaded bar so light that inertia is nothing; viscosity, as of critical damping, ends the start's vibration."""
    light = 1e-8
    viscosity = 2.0 * np.sqrt(E * light / 3.0) * L / 3.0
    return rod(terms, force=(FORCE, 0, 0), density=light, damping=viscosity, equilibria="instantaneous")


def creep(terms, t):
    """Strains of a bar (n,) and of its elements (n, n_terms): stress FORCE/A is E_0 [(1 - sum g) q + sum g_i d_i]."""
    g, tau = shares_and_times(terms)
    # d_i' = q' - d_i/tau_i and q' = -sum g_i d_i'/(1 - sum g), so q' = sum g_i d_i/tau_i
    A = np.outer(np.ones(len(g)), g / tau) - np.diag(1.0 / tau)
    q0 = FORCE / (E * AREA)
    d = np.array([expm(A * time) @ np.full(len(g), q0) for time in t])
    return (q0 - d @ g) / (1.0 - g.sum()), d


@series
def test_creep_under_a_constant_force(terms):
    run = sorosim.simulate(
        light_bar(terms), 0.5, q0="equilibrium", method="radau", rtol=1e-7, atol=1e-13, dt_out=0.02
    )  # fmt: skip
    exact, d = creep(terms, run.t)
    assert_allclose(run.q[:, 0], exact, rtol=1e-6)
    assert_allclose(run.strain, d, rtol=0, atol=1e-6 * exact[0])
    g, tau = shares_and_times(terms)
    if len(g) == 1:  # the creep compliance of the standard linear solid
        retardation = tau[0] / (1.0 - g[0])
        closed = exact[0] / (1.0 - g[0]) * (1.0 - g[0] * np.exp(-run.t / retardation))
        assert_allclose(run.q[:, 0], closed, rtol=1e-6)


@series
@pytest.mark.parametrize("method", OWN)
def test_own_steps_by_tolerance_follow_what_relaxes(terms, method):
    # coordinates move so evenly that they alone would let steps grow to many relaxation times
    for rtol in (1e-4, 1e-5, 1e-6):
        run = sorosim.simulate(light_bar(terms), 0.5, q0="equilibrium", method=method, rtol=rtol, atol=1e-10)
        assert_allclose(run.q[:, 0], creep(terms, run.t)[0], rtol=40.0 * rtol)


@series
@pytest.mark.parametrize("method", [*OWN, "bdf", "cvode", "ida"])
def test_stress_relaxes_under_a_held_strain(terms, method):
    g, tau = shares_and_times(terms)
    strain = 0.1
    robot = rod(terms, equilibria="instantaneous", initial={"rod.elongation[0]": strain})
    run = sorosim.simulate(robot, 0.3, driven={"rod.elongation[0]": strain}, method=method, rtol=1e-8, atol=1e-12)
    left = 1.0 - g.sum() + np.exp(-run.t[:, None] / tau) @ g
    # own steps are exact where strains change at equal rates
    assert_allclose(run.driven["rod.elongation[0]"], STIFFNESS * strain * left, rtol=1e-11 if method in OWN else 1e-6)
    relaxed = rod(terms, initial={"rod.elongation[0]": strain})
    run = sorosim.simulate(relaxed, 0.1, driven={"rod.elongation[0]": strain}, method=method)
    assert_allclose(run.driven["rod.elongation[0]"], STIFFNESS * strain * (1.0 - g.sum()), rtol=1e-12)


@pytest.mark.parametrize("method", OWN)
def test_own_steps_are_of_order_two(method):
    robot, A, t = rod(TWO), oscillator(TWO, MASS, STIFFNESS), 0.05
    exact = expm(A * t) @ [0.1, 0.0, 0.0, 0.0]
    errors = []
    for step in (2e-4, 1e-4, 5e-5):
        run = sorosim.simulate(robot, t, q0=[0.1], method=method, step=step, dt_out=t)
        errors.append([abs(run.q[-1, 0] - exact[0]), *np.abs(run.strain[-1] - exact[2:])])
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert_allclose(orders, 2.0, atol=0.1)
    assert np.max(errors[-1]) < 1e-4


@pytest.mark.parametrize("method", [*OWN, "bdf", "radau", "lsoda", "cvode", "ida"])
def test_damped_vibration_is_that_of_the_exponential(method):
    robot, A = rod(TWO), oscillator(TWO, MASS, STIFFNESS)
    rtol = 1e-7
    run = sorosim.simulate(robot, 0.05, q0=[0.1], method=method, rtol=rtol, atol=1e-11, dt_out=0.005)
    exact = np.array([expm(A * t) @ [0.1, 0.0, 0.0, 0.0] for t in run.t])
    found = np.column_stack([run.q, run.strain])
    assert_allclose(found, exact[:, [0, 2, 3]], rtol=0, atol=0.1 * 5e-4 if method in OWN else 0.1 * 1e-4)


def characteristic_roots(terms, square):
    """Roots s of s^2 + square E(s)/E_0 = 0, as a polynomial."""
    g, tau = shares_and_times(terms)
    whole = np.poly1d([1.0])
    for time in tau:
        whole = whole * np.poly1d([time, 1.0])
    moduli = (1.0 - g.sum()) * whole
    for share, time in zip(g, tau, strict=True):
        others = np.poly1d([1.0])
        for other in tau[tau != time]:
            others = others * np.poly1d([other, 1.0])
        moduli = moduli + np.poly1d([share * time, 0.0]) * others
    return (np.poly1d([1.0, 0.0, 0.0]) * whole + square * moduli).roots


@series
def test_modes_solve_the_characteristic_equation_of_the_complex_modulus(terms):
    robot = rod(terms, strain={"bending_y": 3})
    lin = robot.linearize(np.zeros(robot.ndof))
    relaxed = 1.0 - shares_and_times(terms)[0].sum()
    squares = (2.0 * np.pi * lin.frequencies) ** 2 / relaxed  # of the instantaneous stiffness
    wanted = np.concatenate([characteristic_roots(terms, square) for square in squares])
    found = lin.eigenvalues
    assert len(found) == len(wanted)
    for root in wanted:
        assert np.abs(found - root).min() < 1e-8 * abs(root)
    first = characteristic_roots(terms, squares[0])
    first = first[first.imag > 0.0][0]
    oscillating = lin.damped.frequencies > 0.0
    assert lin.damped.frequencies[oscillating][0] == pytest.approx(first.imag / (2.0 * np.pi), rel=1e-9)
    assert lin.damped.damping_ratios[oscillating][0] == pytest.approx(-first.real / abs(first), rel=1e-8)
    assert_allclose(np.sort(np.linalg.eigvals(lin.A)), np.sort(found), rtol=1e-7)
    assert lin.B.shape == (len(found), 0)
    assert lin.positions()[0].shape == (3, len(found))
    # the first modes alone keep their roots, since all of the rod relaxes alike
    assert_allclose(np.sort_complex(lin.reduce(1).damped.eigenvalues[:1]), [first], rtol=1e-8)


def test_a_rod_rings_at_the_frequency_and_decay_of_its_first_mode():
    robot = rod(TWO, strain={"bending_y": 3})
    lin = robot.linearize(np.zeros(robot.ndof))
    k = int(np.flatnonzero(lin.damped.frequencies > 0.0)[0])
    value, shape = lin.damped.eigenvalues[k], lin.damped.shapes[:, k]
    amplitude = 1e-5 / np.abs(shape).max()  # small: the motion is linear
    tau = shares_and_times(TWO)[1]
    column = robot.engine.elastic.maxwell.block[0]
    assert column[2] == 2
    strain = np.concatenate([shape * value / (value + 1.0 / time) for time in tau])
    x = np.concatenate([shape, value * shape, strain])
    system = OdeSystem(robot, Prescribed.of(robot, {}, {}))
    x0, A = amplitude * x.real, system.jacobian(0.0, np.zeros(system.size))
    assert_allclose(A @ x, value * x, atol=1e-7 * np.abs(value * x).max())
    t = 3.0 / (value.imag / (2.0 * np.pi))
    found = expm(A * t) @ x0
    assert_allclose(found, amplitude * (x * np.exp(value * t)).real, atol=1e-8 * np.abs(x0).max())
    # and the nonlinear rate is A x there
    assert_allclose(system.rhs(0.0, x0), A @ x0, atol=1e-6 * np.abs(A @ x0).max())


FAST = [{"share": 0.3, "time": 0.004}, {"share": 0.2, "time": 0.02}]


@pytest.mark.parametrize("terms", [pytest.param(FAST[1:], marks=pytest.mark.slow), FAST], ids=["one", "two"])
def test_a_forced_vibration_has_the_loss_factor_of_the_complex_modulus(terms):
    omega, viscosity = 60.0, 1e3  # the viscosity ends the vibration of the start, and is known
    period = 2.0 * np.pi / omega
    loads = {"tip": {"wrench": {"link": "rod", "force": ["sin(60*t)", 0, 0]}}}
    robot = rod(terms, damping=viscosity, loads=loads)
    run = sorosim.simulate(robot, 8 * period, method="radau", rtol=1e-8, atol=1e-13, dt_out=period / 32)
    last = run[-33:-1]
    amplitude = 2.0 * np.mean(last.q[:, 0] * np.exp(-1j * omega * last.t))  # of exp(i omega t)
    force = 2.0 * np.mean(np.sin(omega * last.t) * np.exp(-1j * omega * last.t))
    found = (force * L / amplitude + omega**2 * MASS) / (AREA * L) - 3j * omega * viscosity
    exact = E * modulus(terms, 1j * omega)
    assert found.real == pytest.approx(exact.real, rel=1e-6)
    assert found.imag == pytest.approx(exact.imag, rel=1e-6)


NONLINEAR = {"strain": {"bending": 2, "torsion": 1, "elongation": 0}, "gravity": (0, 0, -9.81), "force": (0, 0.05, 0)}


@pytest.mark.parametrize("method", OWN)
def test_own_steps_follow_bdf_through_large_motion(method):
    robot = rod(TWO, **NONLINEAR)
    options = {"t_end": 0.15, "dt_out": 0.01}
    exact = sorosim.simulate(robot, method="radau", rtol=1e-7, atol=1e-9, **options)
    coarse, fine = (sorosim.simulate(robot, method=method, step=step, **options) for step in (1e-3, 5e-4))
    size = np.abs(exact.q).max()
    errors = [np.abs(run.q - exact.q).max() / size for run in (coarse, fine)]
    assert errors[1] < 2e-3
    assert 3.0 < errors[0] / errors[1] < 5.0
    assert np.abs(fine.strain - exact.strain).max() < 2e-3 * size


@pytest.mark.parametrize("method", [*OWN, "bdf", "radau"])
@pytest.mark.parametrize("equilibria", ["relaxed", "instantaneous"])
def test_energies_balance(method, equilibria):
    robot = rod(TWO, equilibria=equilibria, initial={"rod.bending_y[0]": 0.5}, **NONLINEAR)
    run = sorosim.simulate(robot, 0.3, method=method, rtol=1e-6, atol=1e-9)
    energy = run.energy()
    assert energy.dissipated[-1] > 0.1 * energy.turnover / 5.0
    assert np.abs(energy.balance).max() < 1e-4 * energy.turnover
    assert np.diff(energy.dissipated).min() > -1e-6 * energy.turnover


def test_newmarks_steps_balance_energies_to_rounding_in_linear_motion():
    # mean forces along mean rates, dashpots as springs: nothing is left, however large the step
    robot = rod(TWO)
    energy = sorosim.simulate(robot, 0.2, q0=[0.1], method="newmark", step=2e-3).energy()
    assert np.abs(energy.balance).max() < 1e-10 * energy.turnover
    assert energy.dissipated[-1] > 0.3 * energy.total[0]


LOOP = {
    "links": {"end": {"parent": "rod", "body": {"sphere": {"radius": 0.01}, "mass": 0.02}}},
    "loops": {"pin": {"from": "end", "to": {"link": "world", "at": {"as_built": True}}, "joint": {"spherical": {}}}},
}


@pytest.mark.parametrize("driven", [{}, {"rod.bending_y[0]": "0.1*t^2"}])
def test_the_jacobian_of_the_rate_matches_differences(driven, rng):
    robot = rod(TWO, **NONLINEAR)
    system = OdeSystem(robot, Prescribed.of(robot, {}, driven))
    x = 0.3 * rng.standard_normal(system.size)
    assert len(x) == 2 * (robot.ndof - len(driven)) + 2 * robot.ndof
    scale = np.maximum(np.abs(x), 0.1)
    differences = jacobian(lambda dx: system.rhs(0.2, x + dx), len(x), scale)
    found = system.jacobian(0.2, x)
    assert_allclose(found, differences, atol=2e-8 * np.abs(differences).max())


def test_loops_take_part(rng):
    robot = rod(TWO, strain={"bending": 2, "elongation": 0}, gravity=(0, 0, -9.81), **LOOP)
    system = OdeSystem(robot, Prescribed.of(robot, {}, {}))
    q0 = np.zeros(robot.ndof)
    start = system.state(q0, q0, 0.05 * rng.standard_normal(system.n_strains))
    system.begin(0.0, start)
    differences = jacobian(lambda dx: system.rhs(0.0, start + dx), system.size, 0.05)
    assert_allclose(system.jacobian(0.0, start), differences, atol=1e-6 * np.abs(differences).max())
    methods = "bdf", "generalized-alpha", "ida"
    runs = [sorosim.simulate(robot, 0.1, method=method, rtol=1e-6, atol=1e-9) for method in methods]
    for run in runs[1:]:
        assert_allclose(runs[0].q, run.q, atol=2e-3 * np.abs(runs[0].q).max())
        assert_allclose(runs[0].strain, run.strain, atol=2e-3 * np.abs(runs[0].strain).max())
    assert max(np.abs(run.energy().balance).max() / run.energy().turnover for run in runs) < 1e-4


def test_steps_on_the_tree_and_with_sparse_systems_are_those_with_matrices(monkeypatch):
    robot = rod(TWO, **NONLINEAR)
    runs = []
    for least in (0, 10**9):
        monkeypatch.setattr(engines, "ON_TREE", least)
        monkeypatch.setattr(engines, "ON_SPARSE", least)
        runs.append(sorosim.simulate(robot, 0.05, method="generalized-alpha", step=1e-3, dt_out=0.01))
    assert_allclose(runs[0].q, runs[1].q, atol=1e-6 * np.abs(runs[1].q).max())
    assert_allclose(runs[0].strain, runs[1].strain, atol=1e-6 * np.abs(runs[1].q).max())


def test_a_robot_of_elastic_and_relaxing_parts(rng):
    # only the second rod relaxes: strains belong to its coordinates, and the first takes no notice
    round_bar = {"section": {"circle": {"radius": 0.01}}}
    gel = {**round_bar, "length": 0.1, "material": "gel", "strain": {"bending": 1}}
    steel = {**round_bar, "material": "steel"}
    ball, hinge = {"sphere": {"radius": 0.01}, "mass": 0.01}, {"revolute": {"axis": [0, 1, 0], "stiffness": 1.0}}
    robot = sorosim.load({
        "sorosim": 1,
        "materials": {
            "steel": {"young": 1e7, "poisson": 0.5, "density": 1000, "damping": 1e3},
            "gel": {"young": 1e6, "poisson": 0.5, "density": 1000, "relaxation": {"terms": TWO}},
        },
        "links": {
            "hinge": {"joint": hinge, "body": ball},
            "first": {"parent": "hinge", "rod": {**steel, "length": 0.2, "strain": {"bending": 1}}},
            "second": {
                "parent": "first",
                "rod": {"divisions": [gel, {**steel, "length": 0.1, "strain": {"bending": 0}}]},
            },
        },
    })  # fmt: skip
    system = OdeSystem(robot, Prescribed.of(robot, {}, {}))
    columns = [robot.coordinate_names[i] for i in system.maxwell.column]
    assert columns == 2 * [name for name in robot.coordinate_names if name.startswith("second.1.")]
    x = 0.2 * rng.standard_normal(system.size)
    differences = jacobian(lambda dx: system.rhs(0.0, x + dx), len(x), np.maximum(np.abs(x), 0.1))
    assert_allclose(system.jacobian(0.0, x), differences, atol=2e-8 * np.abs(differences).max())
    runs = [
        sorosim.simulate(robot, 0.1, method=method, rtol=1e-6, atol=1e-9) for method in ("bdf", "generalized-alpha")
    ]
    assert_allclose(runs[0].q, runs[1].q, atol=2e-3 * np.abs(runs[0].q).max())


@pytest.mark.parametrize("method", ["generalized-alpha", "bdf"])
def test_files_keep_strains_and_a_run_goes_on_from_them(method, tmp_path):
    robot, options = rod(TWO, force=(2, 0, 0)), {"method": method, "checkpoint": 0.02, "dt_out": 0.01}
    whole = sorosim.simulate(robot, 0.06, out=tmp_path / "whole.h5", **options)
    assert whole.strain.shape == (7, 2)
    assert np.abs(whole.strain[-1]).min() > 0.0
    opened = sorosim.open(tmp_path / "whole.h5")
    assert_array_equal(opened.strain, whole.strain)
    assert_array_equal(opened.checkpoints.strain, whole.checkpoints.strain)
    assert_array_equal(opened.energy().elastic, whole.energy().elastic)
    part = sorosim.simulate(robot, 0.03, out=tmp_path / "part.h5", **options)
    for begun in (part, tmp_path / "part.h5"):
        again = sorosim.resume(begun, 0.06)
        assert_array_equal(again.q, whole.q)
        assert_array_equal(again.strain, whole.strain)
        assert_array_equal(again.exchanged, whole.exchanged)
    plain = sorosim.simulate(robot, 0.03, method=method, rtol=1e-8, atol=1e-12)
    longer = sorosim.resume(plain, 0.06)
    whole = sorosim.simulate(robot, 0.06, method=method, rtol=1e-8, atol=1e-12)
    assert_allclose(longer.strain, whole.strain, atol=1e-5 * np.abs(whole.strain).max())


def test_a_journal_keeps_strains(tmp_path):
    robot, file = rod(TWO, force=(2, 0, 0)), tmp_path / "run.h5"

    def stop(t):
        if t > 0.025:
            raise RuntimeError("a mistake in a user's function")

    options = {"method": "bdf", "checkpoint": 0.02, "dt_out": 0.01}
    whole = sorosim.simulate(robot, 0.05, **options)
    with pytest.raises(RuntimeError):
        sorosim.simulate(robot, 0.05, out=file, progress=stop, **options)
    assert journal_of(file).read_bytes().startswith(MAGIC)
    found = sorosim.open(file)
    assert_array_equal(found.strain, whole.strain[: len(found.t)])
    again = sorosim.resume(file)
    assert_array_equal(again.q, whole.q)
    assert_array_equal(again.strain, whole.strain)


def test_a_controller_sees_the_motion_that_its_inputs_make():
    actuators = {"pull": {"tendon": {"rod": "rod", "y": 0, "z": "5 mm"}}}
    robot = rod(TWO, strain={"bending_y": 2}, actuators=actuators)

    def controller(t, q, qd):
        return {"pull": 3.0 + np.sign(np.sin(200.0 * t + 1.0))}

    runs = [
        sorosim.simulate(robot, 0.06, controller=controller, dt_control=0.01, method=method, rtol=1e-6, atol=1e-9)
        for method in ("bdf", "generalized-alpha")
    ]
    assert_allclose(runs[0].q, runs[1].q, atol=2e-3 * np.abs(runs[0].q).max())
    assert_allclose(runs[0].strain, runs[1].strain, atol=2e-3 * np.abs(runs[0].q).max())


def test_sensors_of_a_run_see_accelerations_of_the_relaxing_material():
    sensors = {"imu": {"imu": {"link": "rod"}}}
    robot = rod(ONE, strain={"bending_y": 1}, force=(0, 0, 0.05), sensors=sensors)
    run = sorosim.simulate(robot, 0.2, method="radau", rtol=1e-9, atol=1e-12, dt_out=0.002)
    z = run.positions()[:, 2]
    acceleration = np.gradient(np.gradient(z, run.t), run.t)[5:-5]
    x = run.positions()[:, 0]
    along = np.gradient(np.gradient(x, run.t), run.t)[5:-5]
    # gravity is zero: the size of what the sensor feels is that of the acceleration
    felt = np.linalg.norm([run.readings["imu"].channel(f"f_{axis}")[5:-5] for axis in "xyz"], axis=0)
    assert_allclose(felt, np.hypot(acceleration, along), atol=0.02 * felt.max())


def test_events_are_found_and_dense_output_is_that_of_the_run():
    robot = rod(TWO)

    def crossing(t, q, qd):
        return q[0]

    for method in ("newmark", "bdf"):
        options = {"rtol": 1e-8, "atol": 1e-12, "q0": [0.1], "method": method}
        run = sorosim.simulate(robot, 0.02, events=[crossing], dense=True, **options)
        t = run.events[0][0][0]
        exact = expm(oscillator(TWO, MASS, STIFFNESS) * t) @ [0.1, 0, 0, 0]
        assert abs(exact[0]) < 1e-5
        assert abs(run.at(t)[0][0]) < 1e-5


def test_jacobians_of_the_index_2_form_know_strains(rng):
    robot = rod(TWO, strain={"bending": 2, "elongation": 0}, gravity=(0, 0, -9.81), **LOOP)
    system = OdeSystem(robot, Prescribed.of(robot, {}, {}))
    form, n, c = StabilisedIndex2(system), system.size, 30.0
    form.rank = m = robot.n_multipliers
    y, yd = 0.05 * rng.standard_normal((2, n + 2 * m))
    y[n + m :] = 0.0  # A under mu, which is 0, is left out
    differences = jacobian(lambda dy: form.residual(0.0, y + dy, yd + c * dy), n + 2 * m, 0.05)
    form.residual(0.0, y, yd)
    assert_allclose(form.jacobian(0.0, y, yd, c), differences, atol=1e-6 * np.abs(differences).max())


def test_inputs_that_python_computes_take_part():
    robot = rod(TWO, strain={"bending_y": 1}, actuators={"pull": {"tendon": {"rod": "rod", "y": 0, "z": "5 mm"}}})
    in_python, compiled = (
        sorosim.simulate(robot, 0.05, u={"pull": u}, method="generalized-alpha", step=1e-3, rtol=1e-8, atol=1e-10)
        for u in (lambda t: 5.0 * t, "5*t")
    )
    assert_allclose(in_python.strain, compiled.strain, atol=1e-7 * np.abs(compiled.strain).max())


def test_a_stepper_steps_as_runs_do_and_goes_back_to_its_states():
    robot = rod(TWO, strain={"bending_y": 2}, actuators={"pull": {"tendon": {"rod": "rod", "y": 0, "z": "5 mm"}}})

    def controller(t, q, qd):
        return {"pull": 3.0 + round(100.0 * t) % 2}

    options = {"method": "generalized-alpha", "rtol": 1e-9, "atol": 1e-11}
    run = sorosim.simulate(robot, 0.1, controller=controller, dt_control=0.01, dt_out=0.01, step=1e-3, **options)
    sim = sorosim.Stepper(robot, "10 ms", substeps=10, tolerance=1e-11)
    states = [sim.reset()]
    states += [sim.step(controller(state_t, None, None)) for state_t in run.t[:-1]]
    q, strain = (np.array([getattr(state, name) for state in states]) for name in ("q", "strain"))
    # runs begin with accelerations that are shifted (docs/theory.md, 10)
    assert_allclose(q, run.q, atol=1e-3 * np.abs(run.q).max())
    assert_allclose(strain, run.strain, atol=1e-3 * np.abs(run.q).max())
    twin, recording = sim.copy(), Recording(robot, robot.engine.gravity, states[0], 0.01, {})
    for state in states[1:]:
        recording.add(state, None, None)
    assert_array_equal(recording.run().strain, strain)
    sim.state = states[5]
    again = [sim.step(controller(t, None, None)) for t in run.t[5:-1]]
    assert_array_equal([state.strain for state in again], strain[6:])
    assert_array_equal(twin.state.strain, strain[-1])
    # a state from outside has the strains that it says, or those with which motions begin
    sim.state = StepState(0.0, q[5], 0.0 * q[5], np.array([3.0]), strain=strain[5])
    assert_array_equal(sim.state.strain, strain[5])
    sim.state = StepState(0.0, q[5], 0.0 * q[5], np.array([3.0]))
    assert_array_equal(sim.state.strain, 0.0)
