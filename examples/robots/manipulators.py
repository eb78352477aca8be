"""
Soft manipulators
=================

Arms that cables, pressure and motors move.

Run: ``python examples/robots/manipulators.py``
"""

import numpy as np

import sorosim

LOOK = {"size": (900, 540), "ghosts": "time"}

# %%
# The cable-driven manipulator of Mathew et al.: three cables along the arm, and two that wind around its axis.

run = sorosim.simulate(sorosim.load("cable_manipulator"), t_end=4.0)
reach = np.linalg.norm(run.tip(), axis=1)
print(f"its tip stays within {1e3 * reach.min():.0f} and {1e3 * reach.max():.0f} mm of the base")
run.still("cable_manipulator.png", t=[0.0, 0.5, 1.0, 2.0, 4.0], trails=True, **LOOK)

# %%
# Seven rigid links on driven hinges carry a soft arm. What must their motors give?

run = sorosim.simulate(sorosim.load("hybrid_serial"), t_end=4.0)
for name, moment in list(run.driven.items())[:3]:
    print(f"{name}: {1e3 * np.abs(moment).max():.0f} mN m at most")
run.still("hybrid_serial.png", t=[0.0, 1.5, 3.0, 4.0], trails=True, **LOOK)

# %%
# Three air chambers in one bellow: pressure goes round, and so does the tip.

robot = sorosim.load("pneumatic_bellow")
run = sorosim.simulate(robot, t_end=4.0)
print(f"{robot.name}: the tip goes round, over {1e3 * np.ptp(run.tip()[-200:, 0]):.0f} mm")
run.still("pneumatic_bellow.png", t=[2.0, 2.5, 3.0, 3.5], trails=True, **LOOK)

# %%
# A catheter whose tip is magnetised follows a field that turns. How far does the tip go for 25 mT?

robot = sorosim.load("magnetic_catheter")
run = sorosim.simulate(robot)
print(f"{robot.name}: the tip goes round, over {1e3 * np.ptp(run.tip()[-200:, 0]):.0f} mm")
run.still("magnetic_catheter.png", t=[2.0, 2.5, 3.0, 3.5], trails=True, **LOOK)

# %%
# A UR5 by its published Denavit-Hartenberg rows, with three soft fingers on its flange.

robot = sorosim.load("ur5_with_soft_gripper")
run = sorosim.simulate(robot)
print(f"{robot.ndof} coordinates, {sum(link.rod is not None for link in robot.links)} of its links are soft")
run.still("ur5_with_soft_gripper.png", t=[0.0, 1.5, 4.0], ghosts="fade", size=LOOK["size"])

# %%
# A cart with a soft pole. A push and a pull at the right moments swing the pole up; nothing holds it there yet.

robot = sorosim.load("soft_cart_pole")
run = sorosim.simulate(robot)
print(f"{robot.name}: the end of the pole rises by {1e2 * np.ptp(run.positions('ball')[:, 2]):.0f} cm")
run.still("soft_cart_pole.png", t=[0.0, 1.0, 2.0, 3.0], view="side", **LOOK)

# %%
# Two segments on six tendons, three of which run on through the second.

robot = sorosim.load("two_segment_arm")
run = sorosim.simulate(robot)
print(f"{robot.name}: its tip comes {1e3 * np.linalg.norm(run.tip()[:, :2], axis=1).max():.0f} mm aside")
run.still("two_segment_arm.png", t=[0.0, 1.0, 2.0, 3.0], trails=True, **LOOK)

# %%
# Soft pendulums that a motor pushes to and fro; swinging them up is a task of optimal control.

robot = sorosim.load("swing_up_cart_pole")
run = sorosim.simulate(robot, "2 s")
print(f"{robot.name}: the end of the pole rises by {1e2 * np.ptp(run.tip('pole')[:, 2]):.0f} cm")
run.still("swing_up_cart_pole.png", t=[0.0, 0.5, 1.0, 1.5], view="side", **LOOK)

robot = sorosim.load("soft_furuta")
run = sorosim.simulate(robot, "2 s")
print(f"{robot.name}: the end of the pendulum rises by {1e2 * np.ptp(run.tip('pendulum')[:, 2]):.0f} cm")
run.still("soft_furuta.png", t=[0.0, 0.5, 1.0, 1.5], **LOOK)

robot = sorosim.load("soft_pendubot")
run = sorosim.simulate(robot, "2 s")
print(f"{robot.name}: the end of the lower link rises by {1e2 * np.ptp(run.tip('lower')[:, 2]):.0f} cm")
run.still("soft_pendubot.png", t=[0.0, 0.5, 1.0, 1.5], view="side", **LOOK)

# %%
# A vine robot grows at its tip from 20 cm to 1.2 m; tendons steer it.

run = sorosim.simulate(sorosim.load("vine"))
print(f"{run.robot.name}: its tip comes {100 * np.linalg.norm(run.tip(), axis=1).max():.0f} cm away")
run.still("vine.png", t=[0.0, 4.0, 8.0, 10.0], trails=True, **LOOK)

# %%
# Concentric tubes, turned and inserted at their bases, lean on a post.

robot = sorosim.load("concentric_tubes")
turned = sorosim.statics(robot)
inserted = sorosim.statics(robot, driven={"robot.inner.rotation": "90 deg", "robot.inner.insertion": "3 cm"})
way = 1e3 * np.linalg.norm(turned.tip() - inserted.tip())
print(f"{robot.name}: turning and inserting the inner one moves its tip by {way:.0f} mm")
turned.still("concentric_tubes.png", **LOOK)
