"""
A soft arm that is pushed: model-predictive control with an observer
====================================================================

A hanging arm with four tendons moves its tip along a circle, and from 1.5 s on somebody pushes its tip. A camera sees
the tip in every third tick, to 0.5 mm, and a gyroscope at the tip turns with it. `sorosim.Observer` finds state and
push from these, and `sorosim.MPC` plans under the push that was found.
"""

import numpy as np
from matplotlib.figure import Figure

import sorosim

DT, T_END, T_PUSH, PUSH = 0.02, 4.0, 1.5, np.array([0.0, 0.08, 0.0])
MARKER, GYRO = 0.5e-3, 0.02
tendon = {name: {"tendon": {"rod": "arm", "y": y, "z": z}} for name, y, z in (
    ("front", 0, "8 mm"), ("left", "8 mm", 0), ("back", 0, "-8 mm"), ("right", "-8 mm", 0),
)}  # fmt: skip
arm = sorosim.load(
    {
        "sorosim": 1,
        "name": "pushed arm",
        "materials": {"rubber": {"young": "0.5 MPa", "poisson": 0.49, "density": "1100 kg/m^3", "damping": "300 Pa*s"}},
        "links": {
            "arm": {
                "at": {"rotation": {"axis": [0, 1, 0], "angle": "90 deg"}},
                "rod": {
                    "length": "30 cm",
                    "section": {"circle": {"radius": "1 cm"}},
                    "material": "rubber",
                    "strain": {"bending": 2, "elongation": 0},
                },
            }
        },
        "actuators": tendon,
        "sensors": {"gyro": {"imu": {"link": "arm"}, "noise": [GYRO, GYRO, GYRO, 1, 1, 1]}},
    }
)
rest = sorosim.statics(arm).tip("arm")


def target(t):
    angle, ramp = np.pi * t, min(1.0, t) ** 2 * (3.0 - 2.0 * min(1.0, t))
    radius = 0.04 * ramp
    return rest + np.array([radius * np.cos(angle), radius * np.sin(angle), 0.012 * ramp + 2.5 * radius**2])


# %%
# The robot of the observer, `observer.robot`, has the unknown force as three further inputs. They are the disturbance
# of the plans: the controller does not choose them, and each tick tells it what they are now.


def observer_of_the_arm():
    return sorosim.Observer(
        arm, DT, {"arm.tip": "force"}, {"arm.tip": "0.2 N", "motion": "2 cm/s"}, noise={"arm": MARKER},
        prior={"arm.tip": "0.1 N"},
    )  # fmt: skip


def follow(sees, knows, seed=0):
    """Off the path [m], force as found and its deviation, tips: of a controller that sees and knows one of these."""
    random, observer = np.random.default_rng(seed), observer_of_the_arm()
    found = observer.reset("equilibrium", position="2 mm", velocity="1 cm/s")
    cost = sorosim.Cost(
        places=[sorosim.PlaceCost("arm", position=target, weight=1e4, final=1e3)], effort=1e-3, smoothness=1e-4
    )
    limits = dict.fromkeys(arm.actuator_names, (0.0, 15.0))
    mpc = sorosim.MPC(observer.robot, 10 * DT, DT, cost, limits, disturbance=dict.fromkeys(found.loads, 0.0))
    real = sorosim.Stepper(observer.robot, DT, substeps=4)
    state, rows = real.reset("equilibrium"), []
    for k in range(round(T_END / DT)):
        push = PUSH * (k * DT >= T_PUSH)
        loads = {"nothing": None, "estimate": found.loads, "truth": dict(zip(found.loads, push, strict=True))}[knows]
        known = state if sees == "truth" else found
        u = mpc.step(known.q, known.qd, loads)
        state = real.step([*u, *push])
        tip = real.robot.pose(state.q, "arm")[:3, 3]
        turns = real.robot.measure(state.q, state.qd, u=state.u)["gyro"][:3]
        readings = {"gyro": [*(turns + GYRO * random.standard_normal(3)), None, None, None]}
        if k % 3 == 0:
            readings["arm"] = tip + MARKER * random.standard_normal(3)
        found = observer.step(u, readings)
        rows.append([*tip, *target((k + 1) * DT), *found.mean, *found.standard_deviations.values()])
    return np.array(rows)


# %%
# Once it has begun, and while it is pushed:

CASES = {
    "true state, true push": ("truth", "truth"),
    "observer, push as found": ("estimate", "estimate"),
    "true state, push ignored": ("truth", "nothing"),
    "observer, push ignored": ("estimate", "nothing"),
}
t = DT * np.arange(1, round(T_END / DT) + 1)
results = {name: follow(*case) for name, case in CASES.items()}
for name, rows in results.items():
    off = 1e3 * np.linalg.norm(rows[:, :3] - rows[:, 3:6], axis=1)
    before, pushed = off[(t > 0.5) & (t <= T_PUSH)], off[t > T_PUSH]
    rms = [np.sqrt(np.mean(one**2)) for one in (before, pushed)]
    print(f"{name:25} rms {rms[0]:.2f} mm before, {rms[1]:.2f} mm pushed, largest {pushed.max():.1f} mm")
rows = results["observer, push as found"]
late = t > T_PUSH + 0.5
print(f"the push, of {PUSH[1]:g} N, is found to {np.sqrt(np.mean((rows[late, 7] - PUSH[1]) ** 2)):.3f} N rms, "
      f"which the observer takes for {rows[late, 10].mean():.3f} N")  # fmt: skip

# %%
# The path seen along the arm, the distance from it, and the push with its 95 % band.

COLOURS = {
    "true state, true push": "#009e73",
    "observer, push as found": "#0072b2",
    "observer, push ignored": "#d55e00",
}
figure = Figure(figsize=(11.0, 3.6), layout="constrained")
path, distance, force = figure.subplots(1, 3)
path.plot(*(1e3 * rows[:, 3:5].T), color="0.4", linewidth=4.0, alpha=0.35, label="wanted")
for name, colour in COLOURS.items():
    one = results[name]
    path.plot(*(1e3 * one[:, :2].T), color=colour, linewidth=1.3)
    distance.plot(t, 1e3 * np.linalg.norm(one[:, :3] - one[:, 3:6], axis=1), color=colour, linewidth=1.3, label=name)
for k, (axis, colour) in enumerate(
    zip("xy", ("#009e73", "#0072b2"), strict=True)
):  # along the arm next to nothing is told
    mean, half = rows[:, 6 + k], 1.96 * rows[:, 9 + k]
    force.fill_between(t, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0.0)
    force.plot(t, mean, color=colour, linewidth=1.3, label=f"$f_{axis}$")
    force.plot(t, PUSH[k] * (t > T_PUSH), color=colour, linestyle=":", linewidth=1.3)
path.set(xlabel="x [mm]", ylabel="y [mm]", aspect="equal", title="tip, seen along the arm")
distance.set(xlabel="t [s]", ylabel="mm", title="distance from the path", ylim=(0.0, None))
force.set(xlabel="t [s]", ylabel="N", title="push as found (dotted: as it is)")
path.legend(loc="upper left")
distance.legend(loc="upper left", fontsize=8.0)
force.legend(loc="upper left")
