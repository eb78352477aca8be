"""Static estimation: derivatives against differences, other algorithms, statistics, what is not told, errors."""

import json
import re
import sys

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.spatial.transform import Rotation

import sorosim
from sorosim.connect.cli.main import main
from sorosim.files import load_text
from sorosim.mechanics.dynamics.link_frames import LinkFrames
from sorosim.studies.estimation.estimator import Estimator
from sorosim.studies.estimation.unknowns import Functions
from tests.helpers.robots import TENDON_ROD

TENDONS = ("helix", "left", "down", "right")
# a soft cantilever that bends little: nearly linear
CANTILEVER = """
sorosim: 1
name: cantilever
gravity: [0, 0, 0]
materials:
  steel: {young: 200 GPa, poisson: 0.3, density: 7850 kg/m^3}
links:
  arm:
    rod: {length: 50 cm, section: {circle: {radius: 2 mm}}, material: steel, strain: {torsion: 2, bending: ORDER}}
sensors:
  gauge: {strain: {link: arm, s: 0.3}, noise: [1e-3, 1e-3, 1e-3, 1e-6, 1e-6, 1e-6]}
  camera: {pose: {link: arm}, noise: [1 mm, 1 mm, 1 mm, 1 deg, 1 deg, 1 deg]}
"""
POSE_NOISE = ["1 deg", "1 mm"]
ARM_WITH_TENDON = """
sorosim: 1
name: arm
materials:
  rubber: {young: 0.5 MPa, poisson: 0.49, density: 1100 kg/m^3}
links:
  arm:
    rod: {length: 30 cm, section: {circle: {radius: 1 cm}}, material: rubber, strain: {bending: 3}}
actuators:
  pull: {tendon: {rod: arm, y: 0, z: 8 mm}}
"""


def robot_of(text, order=4):
    return load_text(text.replace("ORDER", str(order)), "robot.yaml")


@pytest.fixture(scope="module")
def tendon_rod():
    return robot_of(TENDON_ROD, 8)


@pytest.fixture(scope="module")
def cantilever():
    return robot_of(CANTILEVER)


def at_rest(robot, load, kind, place="arm"):
    """An equilibrium under a load that an estimate of its kind knows, and the robot that has it as inputs."""
    whole = Estimator(robot, {"arm": [0.0, 0.0, 0.0]}, {place: kind}, "1 mm").robot
    n = whole.engine.n_actuators - len(load)
    return sorosim.statics(whole, np.concatenate([np.zeros(n), load]))


# -- derivatives -------------------------------------------------------------------------------------------------------

CASES = {
    "tendons": (
        "cable_manipulator", {("arm", 0.5): [0.2, 0.0, -0.05], "arm": np.eye(4)},
        {"cable1": None, "arm.tip": "wrench", "materials.silicone.young": None, "links.arm.rod.length": None,
         "links.arm.rod.section.circle.radius[0]": None},
        {("arm", 0.5): "1 mm", "arm": POSE_NOISE}, {"u": [6.0, 0.3, 2.5, 0.5, 0.4]}, None,
    ),
    "along a rod": (
        "cable_manipulator", {("arm", 0.5): [0.2, 0.0, -0.05], "arm": np.eye(4)},
        [{"arm": "force per length"}], {("arm", 0.5): "1 mm", "arm": POSE_NOISE}, {"u": [6.0, 0.3, 2.5, 0.5, 0.4]},
        {"arm": {"spread": "1 N/m", "length": "30 cm"}},
    ),
    "directions": (
        "cable_manipulator", {("arm", 0.5): [0.2, 0.0, -0.05, 0.0, 0.6, 0.8], "arm": [0.4, 0, 0, 1, 0, 0]},
        {"cable1": None, "arm.tip": "wrench", "materials.silicone.young": None, "links.arm.rod.length": None},
        POSE_NOISE, {"u": [6.0, 0.3, 2.5, 0.5, 0.4]}, None,
    ),
    "strain": (
        "cable_manipulator", {"arm": np.eye(4)}, {"arm": "strain", "cable2": "1 N"}, POSE_NOISE, {"u": [1.0] * 5},
        {"arm": "0.5 1/m"},
    ),
    "loop": (
        "slider_crank", {"piston": [0.2, 0.0, 0.0]}, {"crank": "1 deg", "parameters.crank": None, "rod": "force"},
        "1 mm", {}, None,
    ),
    "loops of rods": (
        "hybrid_parallel", {"plate": np.eye(4)},
        {"plate": "wrench", "parameters.reach": None, "materials.silicone.young": None}, POSE_NOISE, {}, None,
    ),
    "contact": (
        "contact_cylinder", {("arm", 0.6): [0.2, 0.0, 0.0], "arm": np.eye(4)},
        {"cable1": "1 N", "materials.silicone.young": None, "arm.tip": "force"},
        {("arm", 0.6): "1 mm", "arm": POSE_NOISE}, {"u": {"cable1": 25.0}}, None,
    ),
    "tubes": (
        "concentric_tubes", {"robot": np.eye(4)}, {"robot.middle.rotation": "1 deg", "materials.nitinol.young": None},
        POSE_NOISE, {}, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
def test_derivatives_of_readings(case):
    name, readings, unknown, noise, command, prior = CASES[case]
    estimator = Estimator(sorosim.load(name), readings, unknown, noise, prior, **command)
    equilibria, p = estimator._equilibria, estimator._p
    x = equilibria.rest(p, q=estimator._q)

    def at(p):
        point = equilibria.corrected(equilibria.point(x, p))
        return equilibria.point(point.x + point.correction, p)

    J = at(p).J
    for k, name in enumerate(estimator.names):
        h = min(1e-3 * max(abs(p[k]), 0.1), 0.1 / np.abs(J[:, k]).max())
        d = h * np.eye(len(p))[k]
        near, far = at(p + d).error - at(p - d).error, at(p + 2.0 * d).error - at(p - 2.0 * d).error
        difference = (8.0 * near - far) / (12.0 * h)
        size = np.abs(difference).max()
        # of fourth order; equilibria are rounding of 1e-13 m off, 1e-10 of a deviation
        assert np.abs(J[:, k] - difference).max() < 1e-6 * size + 1e-9 / h, name


def test_derivatives_of_sensors(cantilever):
    readings = {"gauge": [0.0, 0.1, 0.2, None, None, None], "camera": [0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]}
    unknown = {"arm.tip": "wrench", "materials.steel.young": None, "links.arm.rod.length": None}
    estimator = Estimator(cantilever, readings, unknown)
    assert estimator._equilibria.readings.names[:3] == ("gauge.torsion", "gauge.bending_y", "gauge.bending_z")
    p = estimator._p + np.array([0.01, 0.02, -0.03, 0.1, 0.2, 0.3, 0.0, 0.0])
    equilibria = estimator._equilibria
    x = equilibria.rest(p, q=estimator._q)
    J = equilibria.corrected(equilibria.point(x, p)).J
    for k in range(len(p)):
        h = 1e-4 * max(abs(p[k]), 1e-2)
        d = h * np.eye(len(p))[k]
        sides = [equilibria.corrected(equilibria.point(x, p + sign * d)).error for sign in (-2.0, -1.0, 1.0, 2.0)]
        difference = (sides[0] - 8.0 * sides[1] + 8.0 * sides[2] - sides[3]) / (12.0 * h)
        assert np.abs(J[:, k] - difference).max() < 1e-6 * np.abs(difference).max() + 1e-8


# -- other algorithms --------------------------------------------------------------------------------------------------


def test_linear_gaussian(cantilever):
    """Small forces: mean and covariance are those of the textbook."""
    sd, prior = 1e-5, np.array([1e-2, 2e-2, 3e-2])
    truth = np.array([4e-3, -1e-2, 2e-2])
    eq = at_rest(cantilever, truth, "force")
    y = eq.tip("arm")
    est = sorosim.estimate(cantilever, {"arm": y}, {"arm.tip": "force"}, sd, {"arm.tip": prior.tolist()})
    H = est.robot.engine  # derivatives of the tip by the force, by differences of equilibria
    H = np.array([
        (sorosim.statics(est.robot, est.u + d).tip("arm") - sorosim.statics(est.robot, est.u - d).tip("arm")) / 2e-4
        for d in 1e-4 * np.eye(3)
    ]).T  # fmt: skip
    P = np.diag(prior**2)
    K = P @ H.T @ np.linalg.inv(H @ P @ H.T + sd**2 * np.eye(3))
    assert est.covariance == pytest.approx((np.eye(3) - K @ H) @ P, rel=1e-4, abs=1e-12)
    start = sorosim.statics(cantilever).tip("arm")
    # of second order in a deflection of 1 mm on 50 cm
    assert est.mean == pytest.approx(K @ (y - start), rel=2e-2, abs=2e-4)
    assert est.force("arm.tip")[0] == pytest.approx(est.mean)


def test_minimum_by_another_optimiser(tendon_rod):
    """Nelder and Mead on the cost, each trial by statics, find no less."""
    u = np.array([2.0, 1.0, 0.8, 1.5])
    readings = {"arm": [0.12, 0.07, -0.03], ("arm", 0.5): [0.11, 0.02, 0.01]}
    unknown = [dict.fromkeys(TENDONS, "0.1 N"), {"arm.tip": "force"}]
    est = sorosim.estimate(tendon_rod, readings, unknown, "5 cm", {"arm.tip": "0.05 N"}, u)

    def cost(z):
        p = np.concatenate([u, np.zeros(3)]) + scale * z
        eq = sorosim.statics(est.robot, p, q0=est.q)
        tip, middle = (est.robot.pose(eq.q, "arm", s=s)[:3, 3] for s in (1.0, 0.5))
        errors = np.concatenate([tip - readings["arm"], middle - readings["arm", 0.5]]) / 0.05
        return errors @ errors + z @ z

    scale = np.array([0.1] * 4 + [0.05] * 3)
    z = (est.mean - np.concatenate([u, np.zeros(3)])) / scale
    assert cost(z) == pytest.approx(est.cost, rel=1e-8)
    found = optimize.minimize(cost, z + 0.05, method="Nelder-Mead", options={"maxfev": 1200, "fatol": 1e-10})
    assert found.fun > est.cost * (1.0 - 1e-8)
    # it comes as near as its tolerance of the cost says: the cost grows by the square of posterior deviations
    assert found.fun < est.cost + 1e-3


def test_same_as_fit():
    """A number of the file from markers: estimate and fit are the same least squares."""
    robot = robot_of(CANTILEVER)
    loads = {"push": sorosim.Wrench("arm", force=(0.0, 0.0, 0.5))}
    loaded = load_text(
        CANTILEVER.replace("ORDER", "4") + "loads:\n  push: {wrench: {link: arm, force: [0, 0, 0.5 N]}}\n",
        "loaded.yaml",
    )
    assert loads["push"].force[2] == 0.5
    assert robot.ndof == loaded.ndof
    true = loaded.with_values({"materials.steel.young": 180e9})
    tip = sorosim.statics(true).tip("arm")
    est = sorosim.estimate(loaded, {"arm": tip}, "materials.steel.young", "1 mm")
    data = sorosim.Measurements(positions={"arm": [tip]}, u=np.zeros((1, 0)), sd="1 mm")
    fit = sorosim.fit(loaded, data, ["materials.steel.young"], noise="known")
    assert est.values["materials.steel.young"] == pytest.approx(180e9, rel=1e-6)
    assert est.values == pytest.approx(fit.values, rel=1e-6)
    assert est.covariance == pytest.approx(fit.covariance, rel=1e-4)


def test_solved_again_is_solved_anew(tendon_rod):
    """A search from where the last one ended, under other commands and readings, finds what a new one finds."""
    unknown = [dict.fromkeys(TENDONS, "0.1 N"), {"arm.tip": "force"}]
    estimator = Estimator(tendon_rod, {"arm": [0.2, 0.0, 0.0]}, unknown, "5 mm", {"arm.tip": "0.05 N"}, [1, 1, 1, 1])
    random = np.random.default_rng(5)
    for _ in range(4):
        u = random.uniform(0.8, 3.0, 4)
        y = sorosim.statics(tendon_rod, u).tip("arm") + 0.005 * random.standard_normal(3)
        again = estimator.solve({"arm": y}, u=dict(zip(TENDONS, u, strict=True)))
        anew = sorosim.estimate(tendon_rod, {"arm": y}, unknown, "5 mm", {"arm.tip": "0.05 N"}, u)
        # both end where the next step is 1e-5 of a deviation
        assert again.mean == pytest.approx(anew.mean, abs=1e-4 * 0.1)
        assert again.covariance == pytest.approx(anew.covariance, rel=1e-3, abs=1e-7)


# -- statistics --------------------------------------------------------------------------------------------------------


def draws(robot, simulated, n, unknown, prior, readings, seed):
    """Estimates of random tensions, forces at the tip and readings, and what was true."""
    random, sd = np.random.default_rng(seed), 1e-4
    estimator = Estimator(robot, readings, unknown, sd, prior, [1.0, 1.0, 1.0, 1.0])
    whole = Estimator(simulated, readings, {"arm.tip": "force"}, sd).robot
    for _ in range(n):
        u, force = random.uniform(0.8, 3.0, 4), 0.05 * random.standard_normal(3)
        tensions = u + 0.1 * random.standard_normal(4)
        eq = sorosim.statics(whole, np.concatenate([tensions, force]))
        poses = {key: whole.pose(eq.q, "arm", s=1.0 if key == "arm" else key[1]) for key in readings}
        read = {key: g[:3, 3] + sd * random.standard_normal(3) for key, g in poses.items()}
        yield estimator.solve(read, u=dict(zip(TENDONS, u, strict=True))), tensions, force, (whole, eq)


FORCE_AND_TENSIONS = [dict.fromkeys(TENDONS, "0.1 N"), {"arm.tip": "force"}]
TIP_PRIOR = {"arm.tip": "0.05 N"}


def test_wrong_modulus(tendon_rod):
    """A rod that is 10 % stiffer than its model: bands hold if the model error is unknown, too, and not without."""
    stiffer, n = tendon_rod.with_values({"materials.nitinol.young": "44 GPa"}), 15
    places = {("arm", 0.5): [0.1, 0.0, 0.0], "arm": [0.25, 0.0, 0.0]}
    found = {}
    for name, unknown, prior in (
        ("none", [], {}),
        ("strain", [{"arm": "strain"}], {"arm": {"spread": ["0.2 1/m", "0.5 1/m", "0.5 1/m"]}}),
        ("number", ["materials.nitinol.young"], {"materials.nitinol.young": ("40 GPa", "4 GPa")}),
    ):
        runs = draws(tendon_rod, stiffer, n, [*FORCE_AND_TENSIONS, *unknown], {**TIP_PRIOR, **prior}, places, 3)
        found[name] = sum(est.nees({"arm.tip": force}) for est, _, force, _ in runs)
    low, high = stats.chi2.ppf([5e-7, 1.0 - 5e-7], 3 * n)
    assert found["none"] > high
    assert found["strain"] < high
    assert low < found["number"] < high


def test_model_error_by_the_metric_of_the_rod():
    """The band of a shape that strain errors make does not depend on the order of the rod's strains."""
    bands = []
    for order in (6, 9):
        prior = {"arm": {"spread": "0.05 1/m", "length": "20 cm"}}
        est = sorosim.estimate(
            robot_of(CANTILEVER, order), {"arm": [None, None, "1 mm"]}, {"arm": "strain"}, "1 mm", prior
        )
        bands.append(est.pose("arm", 0.7)[1][[4, 5], [4, 5]])
    assert bands[0] == pytest.approx(bands[1], rel=2e-3)


def test_load_along_a_rod(cantilever):
    """A load per length from the shape that it makes: readings lie within the band, its resultant near the truth."""
    line = "loads:\n  snow: {line: {rod: arm, force: [0, 0, (-2 N/m)*(1 - s)]}}\n"
    loaded = load_text(CANTILEVER.replace("ORDER", "4") + line, "loaded.yaml")
    eq = sorosim.statics(loaded)
    random = np.random.default_rng(4)
    places = {("arm", s): loaded.pose(eq.q, "arm", s=s)[:3, 3] for s in np.linspace(0.1, 1.0, 10).tolist()}
    read = {key: p + 1e-4 * random.standard_normal(3) for key, p in places.items()}
    prior = {"arm": {"spread": "2 N/m", "length": "25 cm"}}
    est = sorosim.estimate(cantilever, read, {"arm": "force per length"}, "0.1 mm", prior)
    s = np.array([0.3, 0.6, 0.9])
    mean, covariance = est.force("arm", s)
    sd = np.sqrt(covariance[:, 2, 2])
    assert (np.abs(mean[:, 2] + 2.0 * (1.0 - s)) < 4.0 * sd).all()
    assert (sd < 2.0).all()
    total, C = est.force("arm")
    assert abs(total[2] + 0.5) < 4.0 * np.sqrt(C[2, 2])
    assert np.sqrt(C[2, 2]) < 0.4  # 0.8 before
    assert est.force("arm", 0.5)[0] == pytest.approx(est.force("arm", [0.5])[0][0])


@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 1.0, 3.0])
def test_functions_have_the_covariance(part):
    functions, s = Functions.correlated(part), np.linspace(0.0, 1.0, 101)
    values = functions.values(s)
    exact = np.exp(-0.5 * ((s[:, None] - s) / part) ** 2)
    # a thousandth of the variance is left out in the mean, a few times of it at the ends
    assert np.abs(values @ values.T - exact).max() < 0.03
    assert np.mean(1.0 - np.sum(values**2, axis=1)) == pytest.approx(0.0, abs=1.2e-3)
    w = np.gradient(s) * np.where((s == 0.0) | (s == 1.0), 0.5, 1.0)
    assert w @ values == pytest.approx(functions.means, abs=2e-3 * len(functions))


# -- what is not told --------------------------------------------------------------------------------------------------


def test_what_neither_readings_nor_priors_tell(cantilever):
    """Two forces at one place without priors: nothing tells them apart. With a prior of one of them both are told."""
    unknown, read = {"arm.tip": "force", ("arm", 1.0): "force"}, {"arm": [0.5, 0.0, 0.001]}
    est = sorosim.estimate(cantilever, read, unknown, "1 mm")
    for name in ("arm.tip.f_z", "arm@1.f_z"):
        assert not est.identifiable[name]
        assert np.isinf(est.standard_deviations[name])
        assert est.interval()[name] == (-np.inf, np.inf)
        assert name in next(line for line in est.summary().splitlines() if line.startswith("neither readings nor"))
    # the shape is told all the same
    assert np.isfinite(est.pose("arm", 0.5)[1][[4, 5], [4, 5]]).all()
    told = sorosim.estimate(cantilever, read, unknown, "1 mm", {"arm.tip": "0.1 N"})
    assert told.identifiable["arm@1.f_z"]
    assert told.standard_deviations["arm@1.f_z"] > 0.1


def test_what_readings_do_not_tell_is_as_expected(cantilever):
    est = sorosim.estimate(cantilever, {"arm": [0.5, 0.0, 0.001]}, {"arm.tip": "force"}, "1 mm", {"arm.tip": "0.1 N"})
    assert est.untold == ("arm.tip.f_x",)
    assert est.values["arm.tip.f_x"] == pytest.approx(0.0, abs=1e-4)
    assert est.interval()["arm.tip.f_x"] == pytest.approx((-0.196, 0.196), abs=1e-3)


def test_bounds():
    """Tendons do not push: where readings ask for it the estimate is at the bound, and says so."""
    robot, none = sorosim.load("cable_manipulator"), [0.0] * 5
    pulled, slack = (sorosim.statics(robot, [u, 0.0, 0.0, 0.0, 0.0]).tip("arm") for u in (1.0, 0.0))
    for towards, bound in ((0.5, False), (-0.5, True)):
        read = {"arm": slack + towards * (pulled - slack)}
        est = sorosim.estimate(robot, read, {"cable1": None}, "5 cm", u=none)
        assert bool(est.at_bound[0]) == bound
        assert ("at a bound, where their intervals end: cable1" in est.summary()) == bound
        assert est.interval()["cable1"][0] >= 0.0
        assert est.values["cable1"] == pytest.approx(0.0 if bound else 0.5, abs=0.1)
        assert (est.values["cable1"] == 0.0) == bound


@pytest.mark.parametrize("numbers", [{}, {"materials.steel.young": "20 GPa"}])
def test_contradiction_is_told(cantilever, numbers):
    """A tip 10 cm farther than its rod is long, beside noise of 1 mm: from no start anything better is found."""
    read, prior = {"arm": [0.6, 0.0, 0.0]}, {"arm.tip": "0.1 N"}
    with pytest.warns(sorosim.SorosimWarning, match="a reading, a noise, a prior or the model is wrong"):
        est = sorosim.estimate(cantilever, read, {"arm.tip": "force", **numbers}, "1 mm", prior)
    assert est.probability < 1e-4
    assert est.cost == pytest.approx(100.0**2, rel=1e-4)


@pytest.mark.parametrize("numbers", [[], ["materials.nitinol.young"]])
def test_branches(tendon_rod, numbers):
    """Readings of an equilibrium on another branch than the one under the commands: it is found."""
    random, whole = np.random.default_rng(1), None
    for _ in range(242):
        u, force = random.uniform(0.8, 3.0, 4), 0.05 * random.standard_normal(3)
        tensions, noise = u + 0.1 * random.standard_normal(4), random.standard_normal(3)
    unknown, prior = [*FORCE_AND_TENSIONS, *numbers], {**TIP_PRIOR, **dict.fromkeys(numbers, "1 GPa")}
    estimator = Estimator(tendon_rod, {"arm": [0.25, 0.0, 0.0]}, unknown, 1e-4, prior, u)
    whole = estimator.robot
    y = sorosim.statics(whole, np.concatenate([tensions, force])).tip("arm") + 1e-4 * noise
    est = estimator.solve({"arm": y})
    assert est.probability > 1e-4


# -- readings ----------------------------------------------------------------------------------------------------------


def test_a_sensor_is_read_as_its_place(cantilever):
    """A pose sensor's reading is the pose of its place; its bias is taken off, its noise counts."""
    truth = np.array([0.02, -0.05, 0.08])
    eq = at_rest(cantilever, truth, "force")
    reading = eq.measure()["camera"]
    by_sensor = sorosim.estimate(cantilever, {"camera": reading}, {"arm.tip": "force"}, prior={"arm.tip": "0.1 N"})
    by_place = sorosim.estimate(
        cantilever, {"arm": eq.robot.pose(eq.q, "arm")}, {"arm.tip": "force"}, POSE_NOISE, {"arm.tip": "0.1 N"}
    )
    assert by_sensor.mean == pytest.approx(by_place.mean, abs=1e-7)
    assert by_sensor.covariance == pytest.approx(by_place.covariance, rel=1e-6)
    biased = load_text(
        CANTILEVER.replace("ORDER", "4").replace(
            "camera: {pose: {link: arm}", "camera: {pose: {link: arm}, bias: [1 cm, 0, 0, 0, 0, 0]"
        ),
        "biased.yaml",
    )
    off = sorosim.estimate(
        biased,
        {"camera": reading + np.array([0.01, 0, 0, 0, 0, 0, 0])},
        {"arm.tip": "force"},
        prior={"arm.tip": "0.1 N"},
    )
    assert off.mean == pytest.approx(by_sensor.mean, abs=1e-7)


def test_covariance_of_a_reading(cantilever):
    """A diagonal covariance is as its standard deviations; one of full rank is a rotation of them."""
    y, prior = {"arm": [0.5, 0.001, 0.002]}, {"arm.tip": "0.1 N"}
    one = sorosim.estimate(cantilever, y, {"arm.tip": "force"}, {"arm": ["1 mm", "2 mm", "3 mm"]}, prior)
    other = sorosim.estimate(cantilever, y, {"arm.tip": "force"}, {"arm": np.diag([1e-6, 4e-6, 9e-6])}, prior)
    assert one.mean == pytest.approx(other.mean, abs=1e-9)
    C = np.array([[1e-6, 0.0, 0.0], [0.0, 4e-6, 3e-6], [0.0, 3e-6, 9e-6]])
    full = sorosim.estimate(cantilever, y, {"arm.tip": "force"}, {"arm": C}, prior)
    error = full.residuals["arm"]
    assert full.cost == pytest.approx(error @ np.linalg.solve(C, error) + full.mean @ full.mean / 0.01, rel=1e-8)


def test_readings_of_one_place(cantilever):
    """Two cameras that see one place are as one that is surer: of positions and poses, by names, sensor and command."""
    prior, y = {"arm.tip": ["0.1 N", "0.1 N", "0.1 N"]}, np.array([0.5, 0.001, 0.002])
    one = sorosim.estimate(cantilever, {"arm": y}, FORCE, 1e-3 / np.sqrt(2.0), prior)
    for names in (("arm", "arm.tip"), ("arm#left", "arm#right"), ("arm@1", "arm")):
        two = sorosim.estimate(cantilever, dict.fromkeys(names, y), FORCE, "1 mm", prior)
        assert two.mean == pytest.approx(one.mean, abs=1e-9)
        assert two.covariance == pytest.approx(one.covariance, rel=1e-6)
        assert set(two.residuals) == set(names)
    up = np.array([0.0, 0.0, 1e-3])
    apart = {"arm#left": y + up, "arm#right": y - up}
    assert sorosim.estimate(cantilever, apart, FORCE, "1 mm", prior).mean == pytest.approx(one.mean, abs=1e-7)
    # of poses: the camera of the file and a reading of its place
    eq = at_rest(cantilever, np.array([0.02, -0.05, 0.08]), "force")
    pose = eq.robot.pose(eq.q, "arm")
    readings = {"camera": eq.measure()["camera"], "arm#1": pose, "arm#2": pose}
    noise = {"arm#1": POSE_NOISE, "arm#2": POSE_NOISE}
    three = sorosim.estimate(cantilever, readings, FORCE, noise, prior)
    surer = [f"{x / np.sqrt(3.0)} {unit}" for x, unit in ((1.0, "deg"), (1.0, "mm"))]
    once = sorosim.estimate(cantilever, {"arm": pose}, FORCE, surer, prior)
    assert three.covariance == pytest.approx(once.covariance, rel=1e-5)
    assert three.pose("arm#1")[0] == pytest.approx(three.pose("arm")[0])


def test_several_kinds_of_one_place(cantilever, tmp_path):
    """Strains at rest and a load of one rod, force and moment of one place: as their parts say."""
    readings = {"arm@0.5": [0.25, 0.0, 0.001], "arm": [0.5, 0.0, 0.002]}
    strain, load = {"spread": "0.1 1/m", "length": "20 cm"}, {"spread": "1 N/m", "length": "25 cm"}
    prior = {"arm": {"strain": strain, "force per length": load}}
    both = sorosim.estimate(cantilever, readings, {"arm": ["strain", "force per length"]}, "1 mm", prior)
    for kind, own in (("strain", strain), ("force per length", load)):
        alone = sorosim.estimate(cantilever, readings, {"arm": kind}, "1 mm", {"arm": {kind: own}})
        variances = np.diag(both.force("arm", 0.5, kind)[1])
        # what else may be off makes it no surer
        assert (variances > np.diag(alone.force("arm", 0.5)[1]) * (1.0 - 1e-9)).all()
        assert (np.sqrt(variances) < 1.1 * (0.1 if kind == "strain" else 1.0)).all()
    with pytest.raises(sorosim.InputError, match="kind: expected one of strain, force per length"):
        both.force("arm")
    assert np.isfinite(both.nees({"arm": np.zeros(len(both.names))}))
    both.plot(tmp_path / "both.png")
    both.save(tmp_path / "both.h5")
    again = sorosim.open(tmp_path / "both.h5")
    assert again.force("arm", kind="strain")[1] == pytest.approx(both.force("arm", kind="strain")[1], rel=1e-12)
    # force and moment are a wrench
    known = {"moment": "1 N*cm", "force": "0.1 N"}
    parts = sorosim.estimate(cantilever, readings, {"arm.tip": ["moment", "force"]}, "1 mm", {"arm.tip": known})
    wrench = sorosim.estimate(cantilever, readings, {"arm.tip": "wrench"}, "1 mm", {"arm.tip": ["1 N*cm", "0.1 N"]})
    assert parts.names == wrench.names
    assert parts.mean == pytest.approx(wrench.mean, abs=1e-9)
    assert parts.covariance == pytest.approx(wrench.covariance, rel=1e-6)


def test_kinds_and_lengths_by_the_command(tmp_path, capsys, monkeypatch, cantilever):
    (tmp_path / "arm.yaml").write_text(CANTILEVER.replace("ORDER", "4"), encoding="utf-8")
    words = ["--reading", "arm=50cm,0,2mm", "--reading", "arm#2=50cm,0,2mm", "--noise", "1mm", "--unknown",
             "arm=strain, force per length", "--prior",
             "arm={strain: {spread: 0.1 1/m, length: 20 cm}, force per length: {spread: 1 N/m, length: 25 cm}}",
             "--json"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["sorosim", "estimate", str(tmp_path / "arm.yaml"), *words])
    with pytest.raises(SystemExit):
        main()
    told = json.loads(capsys.readouterr().out)
    prior = {"arm": {"strain": {"spread": "0.1 1/m", "length": "20 cm"},
                     "force per length": {"spread": "1 N/m", "length": "25 cm"}}}  # fmt: skip
    readings = {key: [0.5, 0.0, 0.002] for key in ("arm", "arm#2")}
    est = sorosim.estimate(cantilever, readings, {"arm": ["strain", "force per length"]}, "1 mm", prior)
    assert told["values"] == pytest.approx(est.values, abs=1e-9)


def coil(g):
    """What a coil along the x axis of a place reads: where it is, and where it points to."""
    return [*g[:3, 3], *g[:3, 0]]


def test_a_direction_is_a_pose_whose_turn_about_it_is_not_known(cantilever):
    """A pose with a turn of next to no weight tells the same to first order; so errors are small."""
    noise, unknown, prior = 1e-6, {"arm.tip": "wrench"}, {"arm.tip": [2e-3, 1e-2]}
    true = at_rest(cantilever, [1e-4, 3e-4, -2e-4, 1e-3, -2e-3, 3e-3], "wrench")
    random = np.random.default_rng(1)
    g = true.robot.pose(true.q, "arm")
    g[:3, :3] = g[:3, :3] @ Rotation.from_rotvec(noise * random.standard_normal(3)).as_matrix()
    g[:3, 3] += noise * random.standard_normal(3)
    C = noise**2 * np.diag([1e8, 1.0, 1.0, 1.0, 1.0, 1.0])
    pose = sorosim.estimate(cantilever, {"arm": g}, unknown, C, prior)
    axis = sorosim.estimate(cantilever, {"arm": coil(g)}, unknown, [noise, noise], prior)
    sd = np.sqrt(np.diag(pose.covariance))
    # a turn that is uncertain by 1e-2 of a radian turns the others by as much of them
    np.testing.assert_allclose(axis.mean, pose.mean, atol=2e-2 * sd.max(), rtol=0.0)
    np.testing.assert_allclose(axis.covariance / np.outer(sd, sd), pose.covariance / np.outer(sd, sd), atol=2e-2)
    assert axis.outputs == ("arm.tilt_1", "arm.tilt_2", "arm.x", "arm.y", "arm.z")


def test_a_coil_does_not_tell_the_turn_about_it(cantilever):
    true = at_rest(cantilever, [0.01, 0.02, -0.01, 0.0, 0.0, 0.0], "wrench")
    g = true.robot.pose(true.q, "arm")
    for angle in (0.0, 2.0):
        turned = g.copy()
        turned[:3, :3] = g[:3, :3] @ Rotation.from_rotvec([angle, 0.0, 0.0]).as_matrix()
        est = sorosim.estimate(cantilever, {"arm": coil(turned)}, {"arm.tip": "moment"}, POSE_NOISE)
        # bent by 3 rad per N m, the axis of the tip is that of the moment about x to first order
        assert est.cost < 1e-8
    straight = sorosim.estimate(cantilever, {"arm": [0.5, 0, 0, 1, 0, 0]}, {"arm.tip": "moment"}, POSE_NOISE)
    assert straight.identifiable == {"arm.tip.m_x": False, "arm.tip.m_y": True, "arm.tip.m_z": True}


def test_a_direction_that_was_not_read_leaves_a_position(cantilever):
    force, prior = {"arm.tip": "force"}, {"arm.tip": "1 N"}
    place = [0.5, 0.0, 0.002]
    one = sorosim.estimate(cantilever, {"arm": [*place, None, None, None]}, force, "1 mm", prior)
    np.testing.assert_array_equal(one.mean, sorosim.estimate(cantilever, {"arm": place}, force, "1 mm", prior).mean)
    estimator = Estimator(cantilever, {"arm": [*place, 1.0, 0.0, 0.0]}, force, POSE_NOISE, prior)
    assert len(estimator.solve().noise) == 5


def test_entries_that_were_not_read(cantilever):
    some = sorosim.estimate(
        cantilever, {"arm": [None, None, "2 mm"]}, {"arm.tip": "force"}, "1 mm", {"arm.tip": "0.1 N"}
    )
    assert some.outputs == ("arm.z",)
    assert some.output_units == ("m",)
    assert set(some.untold) == {"arm.tip.f_x", "arm.tip.f_y"}


def test_prior_forms(cantilever):
    y = {"arm": [0.5, 0.0, 0.002]}
    one = sorosim.estimate(cantilever, y, {"arm.tip": "force"}, "1 mm", {"arm.tip": "0.1 N"})
    for prior in (0.1, ["0.1 N"] * 3, {"spread": 0.1}, {"mean": 0, "spread": "0.1 N"}, (0.0, "0.1 N"),
                  {"covariance": 0.01 * np.eye(3)}):  # fmt: skip
        other = sorosim.estimate(cantilever, y, {"arm.tip": "force"}, "1 mm", {"arm.tip": prior})
        assert other.mean == pytest.approx(one.mean, abs=1e-12)
        assert other.covariance == pytest.approx(one.covariance, rel=1e-9)
    both = sorosim.estimate(cantilever, y, {"arm.tip": "wrench"}, "1 mm", {"arm.tip": ["1 N*cm", "0.1 N"]})
    assert both.names[:3] == ("arm.tip.m_x", "arm.tip.m_y", "arm.tip.m_z")
    assert both.units == ("N*m",) * 3 + ("N",) * 3


# -- what a reviewer found ---------------------------------------------------------------------------------------------


def test_an_input_at_its_bound_is_as_uncertain_as_before():
    """A slack tendon of which nothing was read: its interval ends at zero, and its spread is that of the prior."""
    robot = sorosim.load("cable_manipulator")
    est = sorosim.estimate(robot, {"arm@0.2": sorosim.statics(robot, [0.0] * 5).robot.pose(
        sorosim.statics(robot, [0.0] * 5).q, "arm", s=0.2)[:3, 3]}, {"cable4": "1 N"}, "5 cm")  # fmt: skip
    assert est.standard_deviations["cable4"] == pytest.approx(1.0, rel=0.05)
    low, high = est.interval()["cable4"]
    assert low == 0.0
    assert 1.5 < high < 2.5


def test_units_do_not_count(cantilever):
    """A modulus in Pa beside a force in N: what readings tell of it is seen."""
    unknown = {"materials.steel.young": "20 GPa", "arm.tip": "force"}
    eq = at_rest(cantilever, np.array([0.0, 0.0, 0.3]), "force")
    prior = {"arm.tip": {"mean": [0, 0, 0.3], "spread": "1 mN"}}
    est = sorosim.estimate(cantilever, {"arm": eq.tip("arm")}, unknown, "0.1 mm", prior)
    assert est.standard_deviations["materials.steel.young"] < 0.5 * 20e9
    assert "materials.steel.young" not in est.untold


def test_a_length_moves_places(cantilever):
    """The band of a place counts what a number of the file moves while the coordinates stay."""
    est = sorosim.estimate(cantilever, {"arm@0.5": [0.25, 0.0, 0.0]}, {"links.arm.rod.length": "2 mm"}, "1 mm")
    sd = est.standard_deviations["links.arm.rod.length"]
    h = 1e-4
    far, near = (cantilever.with_values({"links.arm.rod.length": 0.5 + x}) for x in (h, -h))
    slope = (far.pose(far.initial_q, "arm")[0, 3] - near.pose(near.initial_q, "arm")[0, 3]) / (2.0 * h)
    assert np.sqrt(est.pose("arm")[1][3, 3]) == pytest.approx(sd * slope, rel=1e-4)


def test_noise_of_a_sensor_of_poses_is_in_the_axes_of_the_world(cantilever):
    """Position in the world, rotation in the sensor's axes, as `add_errors` has them; a bias of the rotation too."""
    noise, bias = "[0.1 mm, 5 mm, 5 mm, 10 deg, 10 deg, 10 deg]", "[0, 0, 0, 0, 0.2, 0]"
    text = CANTILEVER.replace("ORDER", "4").replace("[1 mm, 1 mm, 1 mm, 1 deg, 1 deg, 1 deg]", f"{noise}, bias: {bias}")
    robot = load_text(text, "turned.yaml")
    eq = at_rest(robot, np.array([0.0, 0.0, 8.0]), "force")
    sensor, reader = robot.instruments.sensors["camera"], robot.instruments.readers["camera"]
    read = sensor.with_error(eq.measure()["camera"][None], np.array([[0, 0, 0, 0, 0.2, 0]]))[0]
    prior = {"arm.tip": {"mean": [0, 0, 8.0], "spread": "1 N"}}
    est = sorosim.estimate(robot, {"camera": read}, {"arm.tip": "force"}, prior=prior)
    assert reader.channels[0] == "x"
    assert np.abs(est.residuals["camera"]).max() < 1e-6
    J = LinkFrames(est.robot.description, est.robot.engine, ["arm"]).jacobians(est.q)
    V = J[1][0] @ est.q_by
    world = J[0][0][:3, :3] @ V[3:] / np.array([1e-4, 5e-3, 5e-3])[:, None]
    turn = V[:3] / np.deg2rad(10.0)
    assert est.covariance == pytest.approx(np.linalg.inv(world.T @ world + turn.T @ turn + np.eye(3)), rel=1e-4)


def test_other_commands(tendon_rod):
    """What is expected follows commands, but for a mean that was given; commands of what is not driven are refused."""
    unknown, prior = {"helix": "0.1 N", "left": None}, {"left": (1.0, "0.1 N")}
    estimator = Estimator(tendon_rod, {"arm": [0.2, 0.0, 0.0]}, unknown, "5 cm", prior, [1.0, 1.0, 1.0, 1.0])
    estimator.solve()
    est = estimator.solve(u=[2.0, 2.0, 1.0, 1.0])
    assert est.expected == pytest.approx([2.0, 1.0])
    with pytest.raises(sorosim.InputError, match="the coordinates that were driven before: none"):
        estimator.solve(driven={"arm": 1.0})


def test_arguments_are_copied(cantilever):
    read, noise = {"arm": np.array([0.5, 0.0, 0.002])}, {"arm": np.array([1e-3, 1e-3, 1e-3])}
    estimator = Estimator(cantilever, read, {"materials.steel.young": "20 GPa", "arm.tip": "force"}, noise,
                          {"arm.tip": "0.1 N"})  # fmt: skip
    before = estimator.solve()
    read["arm"][2], noise["arm"][:] = 0.1, 1.0
    assert estimator.solve().mean == pytest.approx(before.mean, rel=1e-4)


def test_a_marker_that_is_lost(cantilever):
    """Readings that are missing or None do not count; then they are there again. What is refused changes nothing."""
    both = {"arm": [0.5, 0.001, 0.002], "arm@0.5": [0.25, 0.0, 0.001]}
    estimator = Estimator(cantilever, both, {"arm.tip": "force"}, "1 mm", {"arm.tip": "0.1 N"})
    first = estimator.solve()
    one = sorosim.estimate(cantilever, {"arm": both["arm"]}, {"arm.tip": "force"}, "1 mm", {"arm.tip": "0.1 N"})
    for lost in ({"arm": both["arm"]}, {**both, "arm@0.5": [None] * 3}, {**both, "arm@0.5": None}):
        est = estimator.solve(lost)
        assert est.mean == pytest.approx(one.mean, abs=1e-6)
        assert est.covariance == pytest.approx(one.covariance, rel=1e-4)
        assert est.dof == one.dof
    with pytest.raises(sorosim.InputError, match=r"noise\.arm"):
        estimator.solve({"arm": np.eye(4)})
    assert estimator.solve(both).mean == pytest.approx(first.mean, abs=1e-6)


def test_two_markers_on_one_section(cantilever, tmp_path):
    marks = [sorosim.Anchor("arm", s=0.5, at={"position": [0, y, 0]}) for y in (0.01, -0.01)]
    read = {mark: cantilever.pose(cantilever.initial_q, "arm", s=0.5)[:3, 3] + [0, y, 0]
            for mark, y in zip(marks, (0.01, -0.01), strict=True)}  # fmt: skip
    est = sorosim.estimate(cantilever, read, {marks[0]: "force"}, "1 mm", {marks[0]: "0.1 N"})
    assert len(est.residuals) == 2
    assert est.force(marks[0])[0].shape == (3,)
    est.plot(tmp_path / "est.png")


def test_priors_that_tell_all_leave_no_null_directions(cantilever):
    """Readings of a tenth of a millimetre beside forces of which a prior knows ten kilonewtons."""
    unknown = {"arm.tip": "force", "arm@0.5": "force"}
    est = sorosim.estimate(cantilever, {"arm": [0.5, 0.0, 0.0]}, unknown, "0.1 mm", dict.fromkeys(unknown, 1e4))
    assert np.isfinite(est.covariance).all()
    assert est.standard_deviations["arm.tip.f_x"] == pytest.approx(1e4, rel=0.1)


def test_stability(cantilever):
    """A straight column under less and more than Euler's load, pi^2 E I/(4 L^2) = 24.8 N."""
    estimator = Estimator(cantilever, {"arm": [0.5, 0.0, 0.0]}, {"arm.tip": "force"}, "1 mm", {"arm.tip": "1 N"})
    equilibria, straight = estimator._equilibria, cantilever.initial_q
    for load, stable in ((-24.0, True), (-26.0, False)):
        point = equilibria.point(straight, np.array([load, 0.0, 0.0]))
        assert point.balanced
        assert equilibria.stable(point) == stable


def test_a_table(tmp_path, capsys, monkeypatch):
    """Units of columns, sensors, places on rods and gaps, by the command."""
    (tmp_path / "arm.yaml").write_text(ARM_WITH_TENDON, encoding="utf-8")
    robot = sorosim.load(tmp_path / "arm.yaml")
    rows = ["u.pull [mN],arm.x [mm],arm.y [mm],arm.z [mm],arm@0.5.x [m],arm@0.5.y [m],arm@0.5.z [m]"]
    for u in (0.5, 1.0):
        eq = sorosim.statics(robot, [u])
        tip, middle = 1e3 * eq.tip("arm"), robot.pose(eq.q, "arm", s=0.5)[:3, 3]
        rows.append(",".join(f"{x:.9g}" for x in (1e3 * u, *tip, *middle)))
    rows.append(rows[-1].rsplit(",", 3)[0] + ",,,")
    (tmp_path / "rows.csv").write_text("\n".join(rows), encoding="utf-8")
    arguments = ["estimate", str(tmp_path / "arm.yaml"), "--readings", str(tmp_path / "rows.csv"), "--noise", "1mm",
                 "--unknown", "pull=0.1N", "--json"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["sorosim", *arguments])
    with pytest.raises(SystemExit):
        main()
    found = json.loads(capsys.readouterr().out)["rows"]
    assert [one["values"]["pull"] for one in found] == pytest.approx([0.5, 1.0, 1.0], abs=1e-4)
    assert found[2]["dof"] == 3


# -- results and errors ------------------------------------------------------------------------------------------------


def test_saved_and_opened(tmp_path, cantilever):
    prior = {"arm": {"spread": "1 N/m", "length": "20 cm"}, "arm.tip": "0.1 N"}
    est = sorosim.estimate(
        cantilever, {"arm": [0.5, 0.0, 0.002]}, {"arm.tip": "force", "arm": "force per length"}, "1 mm", prior
    )
    est.save(tmp_path / "est.h5")
    again = sorosim.open(tmp_path / "est.h5")
    assert again.values == est.values
    assert again.summary() == est.summary()
    assert again.force("arm", 0.3)[1] == pytest.approx(est.force("arm", 0.3)[1], rel=1e-12)
    assert again.pose("arm", 0.5)[1] == pytest.approx(est.pose("arm", 0.5)[1], rel=1e-12)
    assert again.equilibrium.q == pytest.approx(est.q, abs=1e-9)
    est.plot(tmp_path / "est.png")
    assert (tmp_path / "est.png").stat().st_size > 10_000


FORCE, AT = {"arm.tip": "force"}, {"arm": [0.5, 0.0, 0.0]}
WRONG = {  # readings, unknown, noise, prior; what the message says
    "no such place": (({"arms": [0, 0, 0]}, FORCE), "a sensor or a place of this robot.*'arms'"),
    "a nan": (({"arm": [0, np.nan, 0]}, FORCE), r"readings.arm\[1\]: expected a length, got nan"),
    "no noise": ((AT, FORCE, None), "noise.arm: expected the standard deviation"),
    "zero noise": ((AT, FORCE, 0.0), "noise.arm.*greater than 0"),
    "a length for a force": ((AT, FORCE, 1e-3, {"arm.tip": "1 mm"}), "prior.arm.tip"),
    "zero spread": ((AT, FORCE, 1e-3, {"arm.tip": 0.0}), "greater than 0"),
    "an unknown kind": ((AT, {"arm.tip": "forces"}), "a spread, or a kind of load:.*force"),
    "a rod without a kind": ((AT, ["arm"]), "a kind of load"),
    "nothing unknown": ((AT, {}), "something to estimate"),
    "a prior of what is known": ((AT, FORCE, 1e-3, {"arm": 1.0}), "names that are unknown"),
    "along a rod without prior": ((AT, {"arm": "force per length"}), "a spread of a load along a rod"),
    "a short correlation": (
        (AT, {"arm": "force per length"}, 1e-3, {"arm": {"spread": 1.0, "length": "1 mm"}}),
        "a length of 0.05 m or more",
    ),
    "a mean along a rod": (
        (AT, {"arm": "force per length"}, 1e-3, {"arm": {"spread": 1.0, "mean": 1.0}}),
        "may stand in the file, as a load",
    ),
    "ragged": ((AT, FORCE, 1e-3, {"arm.tip": [[1.0], 2.0, 3.0]}), "prior.arm.tip"),
    "two spreads": (
        (AT, FORCE, 1e-3, {"arm.tip": {"spread": 1.0, "covariance": np.eye(3)}}), "a spread or a covariance",
    ),
    "one force twice": ((AT, [{"arm@0.5": "force"}, {("arm", 0.5): "wrench"}]), "everything once"),
    "two mappings of one place": ((AT, [{"arm.tip": "force"}, {"arm.tip": "moment"}]), "several kinds are a list"),
    "a prior that is not by kind": (
        (AT, {"arm.tip": ["force", "moment"]}, 1e-3, {"arm.tip": 1.0}), "prior.arm.tip: expected a mapping",
    ),
    "a prior of another kind": (
        (AT, {"arm.tip": ["force", "moment"]}, 1e-3, {"arm.tip": {"force": 1.0, "strain": 1.0}}), "its kinds, force",
    ),
    "a list of no kinds": ((AT, {"arm.tip": ["force", "spin"]}), "a kind of load"),
    "a part of a quaternion": (({"camera": [0.5, 0, 0, 1.0, None, None, None]}, FORCE), "unit quaternion"),
    "no covariance": ((AT, FORCE, 1e-3, {"arm.tip": {"covariance": -np.eye(3)}}), "a positive definite matrix"),
    "other noise": ((AT, FORCE, {"tip": 1.0}), "names of readings"),
    "twice": (({"arm@0.5": [0.2, 0, 0], ("arm", 0.5): [0.2, 0, 0]}, FORCE), "arm@0.5' twice.*'arm@0.5#2'"),
    "a gauge of six": (({"gauge": [1.0, 2.0]}, FORCE), "6 numbers: torsion"),
    "a wrench by one number": ((AT, {"arm.tip": "wrench"}, 1e-3, {"arm.tip": 1.0}), "two numbers"),
    "a long direction": (({"arm": [0.5, 0, 0, 2, 0, 0]}, FORCE, POSE_NOISE), "direction of length 1.*of length 2"),
    "a part of a direction": (({"arm": [0.5, 0, 0, 1, None, 0]}, FORCE, POSE_NOISE), "a part of them"),
    "no position": (({"arm": [None, None, None, 1, 0, 0]}, FORCE, POSE_NOISE), "a part of them"),
    "two tilts": (({"arm": [0.5, 0, 0, 1, 0, 0]}, FORCE, [0.1, 0.2, 1e-3, 1e-3, 1e-3]), "one angle"),
    "a length of a direction": (({"arm": [0.5, 0, 0, 1, 0, 0]}, FORCE, "1 mm"), "of angle and length"),
    "a free coordinate": ((AT, {"arm.torsion[0]": "1 deg"}), "a coordinate that is driven"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(WRONG))
def test_wrong_arguments(case, cantilever):
    arguments, message = WRONG[case]
    arguments = arguments if len(arguments) > 2 else (*arguments, 1e-3)
    with pytest.raises(sorosim.InputError, match=re.compile(message, re.DOTALL)):
        sorosim.estimate(cantilever, *arguments)


def test_asked_for_what_was_known(cantilever):
    est = sorosim.estimate(cantilever, {"arm": [0.5, 0.0, 0.002]}, {"arm.tip": "force"}, "1 mm", {"arm.tip": "0.1 N"})
    with pytest.raises(sorosim.InputError, match="the name of what was unknown"):
        est.nees({"arm": [0.0, 0.0, 0.0]})
    with pytest.raises(sorosim.InputError, match="3 finite numbers"):
        est.nees({"arm.tip": [0.0]})
    with pytest.raises(sorosim.InputError, match="a load along a rod"):
        est.force("arm.tip", 0.5)
    with pytest.raises(sorosim.InputError, match=r"arm.tip"):
        est.force("arm")
