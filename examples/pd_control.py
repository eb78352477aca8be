"""
A controller that is sampled
============================

Two motors hold an arm at a posture: proportional and derivative feedback of the joint angles with gravity compensated,
sampled two hundred times a second. The arm ends in a soft rod that sways when the arm stops; the controller knows
nothing of it.

Run: ``python examples/pd_control.py``
"""

# %%
# The robot is a mapping, as a file would be. Motors are actuators of joints; their inputs are moments.

import numpy as np

import sorosim

robot = sorosim.load(
    {
        "sorosim": 1,
        "name": "arm with a soft end",
        "materials": {
            "rubber": {"young": "2 MPa", "poisson": 0.5, "density": "1100 kg/m^3", "damping": "10 kPa*s"},
        },
        "links": {
            "upper": {
                "joint": {"revolute": {"axis": [0, 1, 0], "damping": "10 N*mm*s/rad", "friction": "20 N*mm"}},
                "body": {
                    "box": {"size": ["30 cm", "4 cm", "4 cm"]},
                    "density": "600 kg/m^3",
                    "at": {"position": ["15 cm", 0, 0]},
                },
                "frames": {"end": {"position": ["30 cm", 0, 0]}},
            },
            "lower": {
                "parent": "upper",
                "at": {"frame": "end"},
                "joint": {"revolute": {"axis": [0, 1, 0], "damping": "5 N*mm*s/rad", "friction": "10 N*mm"}},
                "body": {
                    "box": {"size": ["20 cm", "3 cm", "3 cm"]},
                    "density": "600 kg/m^3",
                    "at": {"position": ["10 cm", 0, 0]},
                },
                "frames": {"end": {"position": ["20 cm", 0, 0]}},
            },
            "soft": {
                "parent": "lower",
                "at": {"frame": "end"},
                "rod": {
                    "length": "25 cm",
                    "section": {"circle": {"radius": ["8 mm", "5 mm"]}},
                    "material": "rubber",
                    "strain": {"bending": 3},
                },
            },
        },
        "actuators": {"shoulder": {"joint": {"link": "upper"}}, "elbow": {"joint": {"link": "lower"}}},
        "initial": {"upper.revolute": "80 deg", "lower.revolute": "5 deg"},
    }
)

# %%
# A controller is a function of time, coordinates and rates; it returns the inputs. Coordinates come in the order of
# `robot.coordinate_names`: first the two angles. The moment of gravity is that of the whole robot at rest.

target = np.deg2rad([-20.0, 60.0])
stiffness, damping = np.array([4.0, 1.0]), np.array([0.6, 0.08])
zero = np.zeros(robot.ndof)


def hold(t, q, qd):
    gravity = robot.inverse_dynamics(q, zero, qdd=zero)[:2]
    return gravity - stiffness * (q[:2] - target) - damping * qd[:2]


run = sorosim.simulate(robot, t_end=3.0, controller=hold, dt_control=0.005)
print("angles at the end:", np.round(np.rad2deg(run.q[-1, :2]), 1), "degrees, wanted", np.rad2deg(target))
print("largest moments:", np.round(np.abs(run.u).max(axis=0), 2), "N m")

# %%
# What the motors gave, and where the soft end went.

plots = run.plot(what=["tensions", "tip"])
