"""Real robots of the package example-robot-data, where that is installed."""

import sys
from pathlib import Path
from typing import NamedTuple

MISSING = "example-robot-data is not installed: pip install 'sorosim[robots]'"


class RealRobot(NamedTuple):
    """A URDF file of the package."""

    file: str
    free: bool  # whether its root floats
    ndof: int  # mimic joints left free


REAL = {
    "talos": RealRobot("talos_data/robots/talos_reduced.urdf", True, 32 + 6),
    "go2": RealRobot("go2_description/urdf/go2.urdf", True, 12 + 6),
    "anymal": RealRobot("anymal_c_simple_description/urdf/anymal.urdf", True, 12 + 6),
    "ur5": RealRobot("ur_description/urdf/ur5_robot.urdf", False, 6),
}


def robot_data() -> Path | None:
    """Folder of the robots, None without the package."""
    folders = (Path(place) / "cmeel.prefix" / "share" / "example-robot-data" / "robots" for place in sys.path)
    return next((folder for folder in folders if folder.is_dir()), None)
