"""Whether estimates are as sure as they say: normalised errors squared of draws from priors and noise are chi-squared.

The first setting is that of the tests of bendier (Ferguson, Kuntz, Hermans, RA-L 11, 2026), the second its platform.
"""

import numpy as np
import pytest
from scipy import stats

import sorosim
from sorosim.files import load_text
from sorosim.studies.estimation.estimator import Estimator
from tests.helpers.robots import TENDON_ROD

TENDONS = ("helix", "left", "down", "right")

# six steel rods of 1.5 mm between circles of 10 cm, fed through the base
BELOW, ABOVE = (10, 110, 130, 230, 250, -10), (50, 70, 170, 190, 290, 310)
LEG_POSE = "[{rotation: {axis: [0, 0, 1], angle: $%s}}, {position: [10 cm, 0, 0]}, {rotation: {axis: [0, 0, 1], " \
           "angle: -$%s}}, {rotation: {axis: [0, 1, 0], angle: -90 deg}}]"  # fmt: skip
PLATFORM = f"""
sorosim: 1
name: platform
materials:
  steel: {{young: 207 GPa, shear: 79.3 GPa, density: 7850 kg/m^3}}
prefabs:
  leg:
    parameters: {{hole: ~, clamp: ~}}
    links:
      rod:
        at: {LEG_POSE % ("hole", "hole")}
        joint: feed
        rod:
          length: 26 cm
          section: {{circle: {{radius: 0.75 mm}}}}
          material: steel
          strain: {{torsion: 1, bending: 4}}
          quadrature: 8
    loops:
      clamp: {{joint: fixed, from: rod, to: {{link: plate, at: {LEG_POSE % ("clamp", "clamp")}}}}}
links:
  plate:
    at: {{position: [0, 0, 24.5 cm]}}
    joint: free
    body: {{cylinder: {{radius: 11 cm, length: 5 mm}}, density: 900 kg/m^3, at: {{position: [0, 0, 2.5 mm]}}}}
parts:
{
    "".join(
        f"  leg{k}: {{prefab: leg, with: {{hole: {a} deg, clamp: {b} deg}}}}" + chr(10)
        for k, (a, b) in enumerate(zip(BELOW, ABOVE, strict=True), 1)
    )
}
initial:
{"".join(f"  leg{k}_rod.bending_y[1]: 0.5" + chr(10) for k in range(1, 7))}
sensors:
{"".join(f"  force{k}: {{driven_force: {{joint: leg{k}_rod}}, noise: 0.05 N}}" + chr(10) for k in range(1, 7))}
"""
LEGS = {"leg1_rod": 0.03, "leg2_rod": 0.01, "leg3_rod": 0.0, "leg4_rod": 0.0, "leg5_rod": 0.01, "leg6_rod": 0.02}

FIBRE = """
sorosim: 1
name: fibre
gravity: [0, 0, 0]
materials:
  steel: {young: 200 GPa, poisson: 0.3, density: 7850 kg/m^3}
links:
  arm:
    rod: {length: 50 cm, section: {circle: {radius: 2 mm}}, material: steel, strain: {torsion: 2, bending: 6}}
sensors:
""" + "".join(
    f"  g{k}: {{strain: {{link: arm, s: {s}}}, noise: [0.003, 0.003, 0.003, 1, 1, 1]}}\n"
    for k, s in enumerate((0.1, 0.3, 0.5, 0.7, 0.9))
)

# a rod that lies on a pin: smooth contact
PINNED = """
sorosim: 1
name: pinned
materials:
  rubber: {young: 2 MPa, poisson: 0.49, density: 1100 kg/m^3}
links:
  arm:
    rod:
      length: 30 cm
      section: {circle: {radius: 8 mm}}
      material: rubber
      strain: {torsion: 2, bending: 6, elongation: 1}
loads:
  pin:
    contact:
      between: arm
      and:
        cylinder: {radius: 2 cm, length: 20 cm}
        at: {position: [20 cm, 0, -3 cm], rotation: {axis: [1, 0, 0], angle: 90 deg}}
      stiffness: 1e5 N/m^1.5
"""

# a catheter with four tendons and two coils of five degrees of freedom, all known so well that it bends linearly
CATHETER = """
sorosim: 1
name: catheter
gravity: [0, 0, 0]
materials:
  shaft: {young: 200 MPa, poisson: 0.4, density: 1200 kg/m^3}
links:
  catheter:
    rod: {length: 100 mm, section: {circle: {radius: 1.2 mm}}, material: shaft, strain: {torsion: 1, bending: 6}}
actuators:
  up: {tendon: {rod: catheter, y: 0, z: 0.9 mm}}
  left: {tendon: {rod: catheter, y: 0.9 mm, z: 0}}
  down: {tendon: {rod: catheter, y: 0, z: -0.9 mm}}
  right: {tendon: {rod: catheter, y: -0.9 mm, z: 0}}
"""


def platform():
    robot = load_text(PLATFORM, "platform.yaml")
    read = sorosim.statics(robot, driven=LEGS).measure()
    unknown = {"plate": "force", **dict.fromkeys(LEGS, "0.1 mm")}
    return robot, {name: list(x) for name, x in read.items()}, unknown, None, {"plate": "2 N"}, {"driven": LEGS}


def tendon_rod():
    unknown = {**dict.fromkeys(TENDONS, "0.1 N"), "arm.tip": "force"}
    robot = load_text(TENDON_ROD.replace("ORDER", "8"), "rod.yaml")
    return robot, {"arm": [0.2, 0, 0]}, unknown, "0.1 mm", {"arm.tip": "0.05 N"}, {"u": [2.0, 1.2, 0.9, 1.5]}


def tubes():
    robot = sorosim.load("concentric_tubes")
    driven = {"robot.middle.rotation": "90 deg", "robot.inner.rotation": "180 deg"}
    unknown = {"robot.middle.rotation": "1 deg", "robot.inner.rotation": "1 deg", "robot.tip": "force"}
    places = {"robot": [0.0, 0.0, 0.1], ("robot", 0.7): [0.0, 0.0, 0.1]}
    return robot, places, unknown, "0.3 mm", {"robot.tip": "0.02 N"}, {"driven": driven}


def contact():
    robot = load_text(PINNED, "pinned.yaml")
    places = {("arm", 0.5): [0.1, 0, 0], "arm": [0.3, 0, 0]}
    prior = {"arm.tip": {"mean": [0, 0, "-0.2 N"], "spread": ["0.02 N", "0.005 N", "0.05 N"]}}
    return robot, places, {"arm.tip": "force"}, "1 mm", prior, {}


def fibre():
    readings = {f"g{k}": [0.0, 0.1, 0.1, None, None, None] for k in range(5)}
    prior = {"arm": {"spread": "2 N/m", "length": "20 cm"}}
    return load_text(FIBRE, "fibre.yaml"), readings, {"arm": "force per length"}, None, prior, {}


def coils():
    robot, straight = load_text(CATHETER, "catheter.yaml"), [0.1, 0.0, 0.0, 1.0, 0.0, 0.0]
    unknown = {**dict.fromkeys(robot.actuator_names, "0.05 N"), "catheter.tip": "force"}
    places, u = {"catheter": straight, ("catheter", 0.6): straight}, [4.0, 2.5, 1.0, 1.0]
    return robot, places, unknown, ["0.15 deg", "0.15 mm"], {"catheter.tip": "0.01 N"}, {"u": u}


SETTINGS = {one.__name__: one for one in (tendon_rod, platform, tubes, contact, fibre, coils)}


def drawn(estimator, random):
    """Unknowns from their priors, and the readings of their equilibrium with noise; None where there is none."""
    spread = np.linalg.solve(estimator._root, random.standard_normal(len(estimator.mean)))
    p, equilibria = np.clip(estimator.mean + spread, estimator._low, estimator._high), estimator._equilibria
    system_x = equilibria.rest(p, q=estimator._q)
    q, read = equilibria.system.q(system_x), {}
    robot, sd = equilibria.robot, iter(equilibria.readings.sd)
    eq = sorosim.statics(robot, equilibria.system.u.copy(), driven=equilibria.driven, q0=q, stable=False)
    measured = eq.measure()
    for key, before in equilibria._given.items():
        if key not in measured and len(before) == 6:
            link, s = key if isinstance(key, tuple) else (key, 1.0)
            g, tilt = robot.pose(q, link, s=s), [next(sd), next(sd)] * random.standard_normal(2)
            axis = g[:3, 0] + g[:3, 1:3] @ tilt
            place = g[:3, 3] + [next(sd), next(sd), next(sd)] * random.standard_normal(3)
            read[key] = [*place, *(axis / np.linalg.norm(axis))]
            continue
        ideal = measured[key] if key in measured else position(robot, q, key)
        read[key] = [None if old is None else float(x + next(sd) * random.standard_normal())
                     for x, old in zip(ideal, before, strict=True)]  # fmt: skip
    return p, read


def position(robot, q, key):
    """Where a place is."""
    link, s = key if isinstance(key, tuple) else (key, 1.0)
    return robot.pose(q, link, s=s)[:3, 3]


def normalised(setting, n, seed):
    """NEES (n, n_blocks) of what is unknown together, by their keys, and their degrees of freedom."""
    robot, readings, unknown, noise, prior, command = SETTINGS[setting]()
    estimator = Estimator(robot, readings, unknown, noise, prior, **command)
    random, keys = np.random.default_rng(seed), [one.key for one in estimator.unknowns]
    groups = [[k for k in keys if estimator.unknowns[keys.index(k)].is_load == kind] for kind in (True, False)]
    rows, dof = [], []
    for _ in range(n):
        p, read = drawn(estimator, random)
        est = estimator.solve(read)
        true = dict(zip(est.names, p.tolist(), strict=True))
        blocks = [[name for one in est.unknowns if one.key in group for name in one.names] for group in groups]
        rows.append([est.nees({name: true[name] for name in block}) for block in blocks if block])
        dof = [len(block) for block in blocks if block]
    return np.array(rows), dof


@pytest.mark.parametrize("setting", list(SETTINGS))
def test_nees(setting):
    nees, dof = normalised(setting, 12, 1)
    for own, k in zip(nees.T, dof, strict=True):
        # the sum of all is chi-squared; bounds that one run in a million passes
        low, high = stats.chi2.ppf([5e-7, 1.0 - 5e-7], len(own) * k)
        assert low < own.sum() < high


@pytest.mark.slow
@pytest.mark.parametrize("setting", list(SETTINGS))
def test_nees_of_a_thousand_draws(setting):
    """In the band of 95 % are 95 %, and the mean is that of chi-squared, up to five deviations of the draw."""
    nees, dof = normalised(setting, 1000, 2)
    for own, k in zip(nees.T, dof, strict=True):
        low, high = stats.chi2.ppf([0.025, 0.975], k)
        inside = np.mean((own > low) & (own < high))
        print(f"{setting}, {k} degrees of freedom: {100.0 * inside:.1f} % in the band, mean {own.mean():.3f}")
        assert abs(inside - 0.95) < 5.0 * np.sqrt(0.95 * 0.05 / len(own))
        assert abs(own.mean() - k) < 5.0 * np.sqrt(2.0 * k / len(own))
