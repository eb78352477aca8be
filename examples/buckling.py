"""
Columns that buckle, cords that snap, loads that follow
=======================================================

``sorosim.continuation`` follows equilibria past limit loads and onto branches. First a column under a growing load, a
perfect one and one that is a little bent.

Run: ``python examples/buckling.py``
"""

import numpy as np
from matplotlib.figure import Figure

import sorosim


def column(curvature=0.0, frame="world"):
    """A column upwards, pressed at its tip."""
    rod = {
        "length": "50 cm",
        "section": {"rectangle": {"y": "2 cm", "z": "1 cm"}},
        "material": "plastic",
        "reference": {"bending_y": curvature},
        "strain": {"bending_y": 8},
        "quadrature": 24,
    }
    turn = {"axis": [0, 1, 0], "angle": "-90 deg"}
    # the force is down: along -z of the world, or back along x of the tip
    force = [0, 0, 0] if frame == "world" else [-1e-6, 0, 0]
    return sorosim.load(
        {
            "sorosim": 1,
            "name": "column",
            "gravity": [0, 0, 0],
            "materials": {"plastic": {"young": "1 GPa", "poisson": 0.3, "density": "1000 kg/m^3"}},
            "links": {"column": {"joint": "fixed", "at": {"rotation": turn}, "rod": rod}},
            "loads": {"press": {"wrench": {"link": "column", "s": 1, "force": force, "frame": frame}}},
        }
    )


straight = sorosim.continuation(column(), "loads.press.wrench.force[2]", to="-40 N", branches=True)
(point,) = straight.points
print(f"{point.kind} at {-point.parameter:.4f} N; Euler: {np.pi**2 * 1e9 * 0.02 * 0.01**3 / 12 / 4 / 0.5**2:.4f} N")
diagram = straight.plot()

# %%
# One that is bent a little has no branch point. The smooth curve passes near it, and what was the other branch begins
# at a fold: it is found from the mirrored shape.

bent = column(curvature=0.05)
force = "loads.press.wrench.force[2]"
smooth = sorosim.continuation(bent, force, to=-40.0)
apart = sorosim.continuation(bent, force, to=0.0, begin=-40.0, q0=-smooth.q[-1], until=(-40.0, 0.0))
print(f"fold of the other curve at {-apart.folds[0].parameter:.3f} N")

comparison = Figure(figsize=(6.5, 4.0), layout="constrained")
axes = comparison.add_subplot()
for label, curves, style in (("straight", straight.curves(), "k--"), ("bent", [smooth, apart], "C0-")):
    for k, curve in enumerate(curves):
        axes.plot(1e3 * curve.tip()[:, 0], -curve.parameter, style, label=label if k == 0 else None)
axes.set(xlabel="x of the tip [mm]", ylabel="load [N]")
axes.legend()

# %%
# A force that follows the tip never bends the column: there is no other equilibrium. But beyond about 20.05 EI/L^2 an
# oscillation grows.

follower = sorosim.continuation(column(frame="body"), "loads.press.wrench.force[0]", to="-200 N")
(point,) = follower.points
EI = 1e9 * 0.02 * 0.01**3 / 12
print(f"{point.kind} at {-point.parameter * 0.5**2 / EI:.2f} EI/L^2, {point.frequency:.1f} Hz")
