"""Loops that have to close, of public problems: a rod within reach is brought there, and does not coil."""

import numpy as np
import pytest

import sorosim

HINGE = {"revolute": {"axis": [0, 1, 0]}}


def targets(count=24):
    rng = np.random.default_rng(0)
    for _ in range(count):
        far, angle = rng.uniform(0.3, 0.97), np.radians(rng.uniform(-60, 60))
        yield [float(far * np.cos(angle)), 0.0, float(far * np.sin(angle))]


def reaching(target, strain, joint=HINGE, radius=1e-3, young=1e6):
    rod = {"length": 1.0, "section": {"circle": {"radius": radius}}, "material": "m", "strain": strain}
    return sorosim.load(
        {
            "sorosim": 1,
            "materials": {"m": {"young": young, "poisson": 0.5, "density": 1000}},
            "links": {"rod": {"joint": joint, "rod": rod}},
            "loops": {"end": {"joint": joint, "from": "rod", "to": {"at": {"position": target}}}},
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("joint", "strain", "radius", "young"),
    [
        (HINGE, {"bending_y": 4}, 1e-3, 1e6),
        (HINGE, {"bending_y": 4, "elongation": 0}, 1e-3, 1e6),
        (HINGE, {"bending_y": 4, "elongation": 1}, 1e-3, 1e6),
        (HINGE, {"bending_y": 4, "elongation": 1}, 5e-4, 2e11),
        ("spherical", {"bending": 4, "torsion": 1, "elongation": 1}, 1e-3, 1e6),
    ],
    ids=["inextensible", "elongation 0", "elongation 1", "steel", "in space"],
)
def test_every_place_within_reach_is_reached(agrees, request, joint, strain, radius, young):
    reached = coiled = 0
    for target in targets():
        robot = reaching(target, strain, joint, radius, young)
        q = sorosim.assemble(robot).q
        reached += max(gap[0] for gap in robot.loop_gaps(q).values()) < 1e-6
        tangents = robot.poses(q, "rod", s=np.linspace(0, 1, 300))[:, :3, 0]
        coiled += np.arccos(np.clip((tangents[1:] * tangents[:-1]).sum(1), -1, 1)).sum() > 3 * np.pi
    agrees(
        f"rods brought to 24 places within reach, {request.node.callspec.id}",
        [reached, coiled],
        [24, 0],
        atol=0.5,
        source="closed states exist",
    )
