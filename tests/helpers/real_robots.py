"""Real robots of the package example-robot-data, where that is installed."""

import sys
from pathlib import Path
from typing import NamedTuple

import sorosim
from sorosim.mechanics.robot import Robot

MISSING = "example-robot-data is not installed: pip install 'sorosim[robots]'"


class RealRobot(NamedTuple):
    """A URDF file of the package."""

    file: str
    free: bool  # whether its root floats
    ndof: int  # mimic joints left free


# those of figure 5 of Singh, Russell and Wensing, with G1 for ATLAS, which the package does not have
NAMED = {
    "UR3": RealRobot("ur_description/urdf/ur3_robot.urdf", False, 6),
    "Baxter": RealRobot("baxter_description/urdf/baxter.urdf", False, 19),
    "HyQ": RealRobot("hyq_description/robots/hyq_no_sensors.urdf", True, 12 + 6),
    "G1": RealRobot("g1_description/urdf/g1_29dof_rev_1_0.urdf", True, 29 + 6),
    "Talos": RealRobot("talos_data/robots/talos_full_v2.urdf", True, 44 + 6),
}


def robot_data() -> Path | None:
    """Folder of the robots, None without the package."""
    folders = (Path(place) / "cmeel.prefix" / "share" / "example-robot-data" / "robots" for place in sys.path)
    return next((folder for folder in folders if folder.is_dir()), None)


def load_real(folder: Path, robot: RealRobot) -> Robot:
    """One of the robots of the folder, without its pictures."""
    joint = "free" if robot.free else "fixed"
    settings = {"import.joint": joint, "import.visual": False, "import.mimic": "free"}
    return sorosim.load(folder / robot.file, set=settings)
