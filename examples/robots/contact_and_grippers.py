"""
Contact and grippers
====================

Surfaces that touch press by Hertz's law and rub by Coulomb's.

Run: ``python examples/robots/contact_and_grippers.py``
"""

import numpy as np

import sorosim

LOOK = {"size": (900, 540), "ghosts": "time"}

# %%
# The manipulator hangs in a cylinder and hits it, section 6.2 of Mathew et al.

run = sorosim.simulate(sorosim.load("contact_cylinder"), t_end=6.0)
pressure = np.linalg.norm(run.contacts.contacts.force, axis=1)
print(f"{run.robot.name}: contacts press with up to {pressure.max():.1f} N")
run.still("contact_cylinder.png", t=[0.0, 2.0, 4.0, 6.0], **LOOK)

# %%
# Three tendon-driven fingers on a palm, and two fingers of strips and rungs.

run = sorosim.simulate(sorosim.load("soft_gripper"), t_end=3.0)
run.still("soft_gripper.png", t=[0.0, 1.5, 3.0], **LOOK)
parallel = sorosim.simulate(sorosim.load("soft_gripper_parallel"), t_end=2.0)
parallel.still("soft_gripper_parallel.png", t=[0.0, 1.0, 2.0], view="side", **LOOK)
for one in (run, parallel):
    print(f"{one.robot.name}: {one.robot.ndof} coordinates")

# %%
# The fin-ray finger closes on a cylinder.

grasp = sorosim.simulate(sorosim.load("finray_grasp"), t_end=1.5)
print(f"{grasp.robot.name}: {grasp.contacts.at(len(grasp) - 1).n} contacts in the end")
grasp.still("finray_grasp.png", t=[0.0, 1.5], view="side", ghosts="fade", size=LOOK["size"])

# %%
# Three fingers grasp a ball and lift it. This one takes a while longer, so here is only its closing.

ball = sorosim.simulate(sorosim.load("gripper_grasps_sphere"), t_end=1.0)
print(f"{ball.robot.name}: {ball.contacts.at(len(ball) - 1).n} contacts")
ball.still("gripper_grasps_sphere.png", t=1.0, size=LOOK["size"])

# %%
# A hundred fingers close around a pipe and lift it; a ball falls into a net.

comb = sorosim.simulate(sorosim.load("gripper_100"))
print(f"{comb.robot.name}: {comb.robot.ndof} coordinates, the pipe is {1e3 * comb.positions('pipe')[-1, 2]:.0f} mm up")
comb.still("gripper_100.png", t=comb.t[-1], size=LOOK["size"])

net = sorosim.simulate(sorosim.load("net"), t_end=0.4)
print(f"{net.robot.name}: {net.robot.ndof} coordinates, {len(net.robot.loop_names)} loops")
net.still("net.png", t=0.4, size=LOOK["size"])

# %%
# A snake that winds sideways, and twelve rods that fall into a bowl.

snake = sorosim.simulate(sorosim.load("snake_on_plane"), t_end=2.0)
print(f"{snake.robot.name}: {snake.robot.ndof} coordinates")
snake.still("snake_on_plane.png", t=[0.0, 1.0, 2.0], **LOOK)

pile = sorosim.simulate(sorosim.load("rod_pile"), t_end=0.4)
print(f"{pile.robot.name}: {pile.contacts.at(len(pile) - 1).n} contacts after 0.4 s")
pile.still("rod_pile.png", t=0.4, size=LOOK["size"])

# %%
# Five ropes that fall onto the floor and onto each other: they touch along their curves (`docs/theory.md`, 12).

ropes = sorosim.simulate(sorosim.load("rope_pile"), t_end=0.5)
print(f"{ropes.robot.name}: {ropes.contacts.at(len(ropes) - 1).n} contacts after 0.5 s")
ropes.still("rope_pile.png", t=0.5, size=LOOK["size"])
