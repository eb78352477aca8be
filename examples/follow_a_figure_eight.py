"""
A soft arm follows a figure eight by model-predictive control
=============================================================

A camera sees five markers along the cable-driven manipulator, with noise of 0.5 mm, 50 times a second. An observer
estimates coordinates and rates from them, and `sorosim.MPC` plans tensions for the next 0.2 s at each tick.
"""

from time import perf_counter, process_time

import numpy as np
from matplotlib.figure import Figure

import sorosim
from sorosim.analysis.motion.stepper import StepState

DT, NOISE, T_END, SIDE = 0.02, 0.5e-3, 8.0, 0.06
robot = sorosim.load("cable_manipulator")
n = robot.ndof
bounds = dict.fromkeys(robot.actuator_names, (0.0, 20.0))

# %%
# The figure eight lies about where the tip is under a tension of 6 N; the arm begins there. It is drawn across the arm,
# and inverse statics says how far along the arm the tip is then.

start = sorosim.statics(robot, {"cable1": "6 N"})
centre = start.tip()


def wish(t):
    a = 2.0 * np.pi * t / 4.0
    ramp = min(t, 1.0) ** 2 * (3.0 - 2.0 * min(t, 1.0))
    return centre + SIDE * ramp * np.array([0.0, np.sin(a), 0.5 * np.sin(2.0 * a)])


ticks = DT * np.arange(round((T_END + 1.0) / DT) + 1)
path = sorosim.inverse_path(robot, [{"arm": [None, *wish(t)[1:]]} for t in ticks], bounds=bounds, q0=start.q, u=start.u)
reachable = np.array([robot.pose(q, "arm")[:3, 3] for q in path.q])


def target(t):
    return reachable[min(round(t / DT), len(ticks) - 1)]


# %%
# The observer moves the model by a tick and corrects it by the markers, a Kalman filter with constant gain: that of
# the steps linearised at the start, for markers with this noise and inputs that are off by 0.3 N.

marks = [("arm", s) for s in (0.2, 0.4, 0.6, 0.8, 1.0)]


def markers(q):
    return np.concatenate([robot.pose(q, link, s=s)[:3, 3] for link, s in marks])


def observer_gain():
    from scipy.linalg import solve_discrete_are

    sim = sorosim.Stepper(robot, DT, tolerance=1e-10)
    sim.reset(q=start.q)
    sim.step(start.u)
    A, B = sim.linearize()
    C = np.zeros((15, 2 * n))
    for k, (link, s) in enumerate(marks):
        C[3 * k : 3 * k + 3, :n] = robot.pose(start.q, link, s=s)[:3, :3] @ robot.jacobian(start.q, link, s=s)[3:]
    W, V = 0.3**2 * B @ B.T + 1e-10 * np.eye(2 * n), NOISE**2 * np.eye(15)
    P = solve_discrete_are(A.T, C.T, W, V)
    return P @ C.T @ np.linalg.inv(C @ P @ C.T + V)


# %%
# One tick after the other: measure, estimate, plan, and hold the tensions while the arm moves on.


def follow(horizon=0.2, seed=0):
    cost = sorosim.Cost(
        places=[sorosim.PlaceCost("arm", position=target, weight=1e4, final=2e3)], effort=1e-3, smoothness=2e-5
    )
    mpc = sorosim.MPC(robot, horizon, DT, cost, bounds, u0=np.tile(start.u, (round(horizon / DT), 1)))
    arm, model = sorosim.Stepper(robot, DT, substeps=2), sorosim.Stepper(robot, DT)
    state, model_state = arm.reset(q=start.q), model.reset(q=start.q)
    K, rng = observer_gain(), np.random.default_rng(seed)
    rows, times = [], []
    mpc.step(start.q, np.zeros(n))  # what is compiled is loaded
    mpc.reset()
    for k in range(round(T_END / DT)):
        seen = markers(state.q) + NOISE * rng.standard_normal(15)
        began = np.array([perf_counter(), process_time()])
        change = K @ (seen - markers(model_state.q))
        q, qd = model_state.q + change[:n], model_state.qd + change[n:]
        u = mpc.step(q, qd)
        model.state = StepState(model_state.t, q, qd, u)
        model_state = model.step(u)
        times.append(np.array([perf_counter(), process_time()]) - began)
        rows.append([*target(k * DT), *robot.pose(state.q, "arm", s=1.0)[:3, 3], *u])
        state = arm.step(u)
    return np.array(rows), np.array(times), mpc


# %%
# The times are of all that a tick has to do: the markers of the model, the observer's correction and its step, and one
# iteration of the plan (a motion over the horizon from the estimate, its derivatives, the quadratic problem, trials).

rows, times, mpc = follow()
off = np.linalg.norm(rows[:, :3] - rows[:, 3:6], axis=1)
rms = 1e3 * np.sqrt(np.mean(off**2))
print(f"{len(times)} ticks, {mpc.failures} without a plan; tensions up to {rows[:, 6:].max():.1f} N")
print(f"rms error {rms:.2f} mm, largest {1e3 * off.max():.2f} mm")
for name, one in zip(("clock", "processor"), 1e3 * times.T, strict=True):
    middle, high = np.percentile(one, [50.0, 99.9])
    print(f"a tick takes {middle:.1f} ms by the {name}, 99.9 % at most {high:.1f} ms, {one.max():.1f} ms the longest")
print(f"{100.0 * np.mean(times[:, 0] > DT):.2g} % of the ticks are longer than {1e3 * DT:.0f} ms by the clock")

# %%
# Where the tip was to be and where it was, seen along the arm.

figure = Figure(figsize=(6.0, 3.6), layout="constrained")
axes = figure.subplots()
axes.plot(*(1e3 * rows[:, 1:3].T), label="wanted")
axes.plot(*(1e3 * rows[:, 4:6].T), label="tip")
axes.set(xlabel="y [mm]", ylabel="z [mm]", aspect="equal")
axes.legend()
