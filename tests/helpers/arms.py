"""A clamped arm of rubber as plain data, for tests that change one thing of it, and a way to change any."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

RUBBER = {"young": "1 MPa", "poisson": 0.5, "density": "1000 kg/m^3", "damping": "5 kPa*s"}


def rubber_arm(radius: Any = "1 cm", length: Any = "30 cm", **strain: Any) -> dict[str, Any]:
    """One rod, 'arm', of 'rubber' with a tendon above its middle, 'pull'.

    Parameters
    ----------
    radius : number, text or [base, tip]
    length : number or text
    **strain
        Orders of its strains. Default: bending 3, elongation 1.
    """
    rod = {
        "length": length,
        "section": {"circle": {"radius": radius}},
        "material": "rubber",
        "strain": strain or {"bending": 3, "elongation": 1},
    }
    return {
        "sorosim": 1,
        "name": "arm",
        "materials": {"rubber": dict(RUBBER)},
        "links": {"arm": {"rod": rod}},
        "actuators": {"pull": {"tendon": {"rod": "arm", "y": 0, "z": "5 mm"}}},
    }


def changed(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of plain data with values at dotted paths changed or added."""
    out = deepcopy(dict(content))
    for path, value in changes.items():
        *way, last = path.split(".")
        at = out
        for key in way:
            at = at.setdefault(key, {})
        at[last] = deepcopy(value)
    return out
