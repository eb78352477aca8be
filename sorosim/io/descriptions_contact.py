"""What the keys of contacts mean, see `sorosim.io.descriptions`."""

from __future__ import annotations

Keys = dict[str, tuple[str, str]]

_SIDE = ("names of links, which stand for their own surfaces, or surfaces with keys of their own; one, or a list of "
         "them.")  # fmt: skip

CONTACT: dict[str, Keys] = {
    "ContactBlock": {
        "between": (f"The one side: {_SIDE}", "arm"),
        "and": ("The other side, as between.", "{pipe: {radius: 15 cm}}"),
        "among": (f"In place of both: {_SIDE} All touch each other, and rods themselves, but not links that a joint "
                  "connects.", "[arm, knob]"),
        "stiffness": ("Force of one contact per penetration to the power of the exponent.", "1e5 N/m^1.5"),
        "exponent": ("1.5 for round bodies (Hertz), 1 for a linear spring.", "1"),
        "onset": ("Penetration over which the force sets in smoothly.", "0.1 mm"),
        "damping": ("The force is multiplied by 1 + damping times the speed of approach (Hunt and Crossley).",
                    "0.5 s/m"),
        "restitution": ("In place of damping: speed of parting relative to that of meeting.", "0.8"),
        "impact_speed": ("Speed of meeting at which the restitution holds.", "0.5 m/s"),
        "friction": ("Coulomb's coefficient.", "0.3"),
        "slip_speed": ("Speed of sliding at which 0.7 of the friction is reached; what sticks creeps by less.",
                       "0.1 mm/s"),
        "rods": ("A rod's surface: capsules from point to point, or spheres at its points.", "spheres"),
        "apart": ("Pairs of links that do not touch each other.", "[[arm, knob]]"),
    },
    "SurfaceBlock": {
        "link": ("Link that it moves with; without it the shape is in the world.", "knob"),
        "radius": ("Of a rod, in place of its own; one that is not round has half of its thickness.", "5 mm"),
        "pieces": ("Into how many equal pieces a rod is cut for contact, in place of its points.", "20"),
        "box": ("A box around the origin; its edges are rounded by a hundredth of its smallest side.",
                "{size: [10 cm, 5 cm, 2 cm]}"),
        "cylinder": ("A cylinder along z, its middle at the origin.", "{radius: 2 cm, length: 10 cm}"),
        "sphere": ("A sphere around the origin.", "{radius: 2 cm}"),
        "capsule": ("A cylinder along z with half a sphere on either end.", "{radius: 2 cm, length: 10 cm}"),
        "ellipsoid": ("An ellipsoid around the origin; it touches planes and half spaces only.",
                      "{radii: [5 cm, 3 cm, 2 cm]}"),
        "mesh": ("A convex mesh.", "{file: wedge.obj}"),
        "half_space": ("All below the plane z = 0.", "{}"),
        "plane": ("The plane z = 0, a thin wall with two sides.", "{}"),
        "pole": ("A cylinder along z without ends.", "{radius: 5 cm}"),
        "pipe": ("The wall around a round hole along z.", "{radius: 15 cm, length: 1 m}"),
        "bowl": ("The wall around a hollow sphere.", "{radius: 30 cm}"),
        "height_field": ("All below a smooth surface through heights on a grid.",
                         "{size: [1 m, 1 m], heights: [[0, 0, 0, 0], [0, 1 cm, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]}"),
        "at": ("Pose of the shape in the frame of the link, or in the world.", "{position: [0, 0, -10 cm]}"),
    },
    "FlatBlock": {},
    "PoleBlock": {"radius": ("Its radius.", "5 cm")},
    "PipeBlock": {
        "radius": ("Of the hole.", "15 cm"),
        "length": ("Of the hole, beyond which the block around it ends; without it the hole has no ends.", "1 m"),
    },
    "HeightFieldBlock": {
        "heights": ("Heights z at the points of the grid, a list for each x of those along y; at least 4 x 4.",
                    "[[0, 0, 0, 0], [0, 0, 1 cm, 0], [0, 0, 0, 0], [0, 0, 0, 0]]"),
        "size": ("Extent of the grid along x and y, its middle at the origin.", "[1 m, 50 cm]"),
    },
}  # fmt: skip

OF_CONTACT = {
    "ContactBlock": "Contacts", "SurfaceBlock": "Surfaces of contacts", "PoleBlock": "Poles and bowls",
    "PipeBlock": "Pipes", "HeightFieldBlock": "Height fields", "FlatBlock": "Planes",
}  # fmt: skip
