"""What Pinocchio makes of a URDF file itself, in the coordinates of the robot that sorosim makes of it."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from helpers.pinocchio_model import PinocchioRobot, pin
from sorosim.mechanics.robot import Robot


class PinocchioUrdf(PinocchioRobot):
    """A model of Pinocchio's own reader.

    Parameters
    ----------
    robot : Robot
        Of the same file. Only names, kinds and numbers of its coordinates are used.
    path : Path
    free : bool
        Whether the root floats.
    """

    def __init__(self, robot: Robot, path: Path, free: bool = False) -> None:
        root = (pin.JointModelFreeFlyer(),) if free else ()
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.links = tuple(link for link in robot.links if link.joint.n)
        ends = np.cumsum([link.joint.n for link in self.links])
        self.own = {link.name: slice(e - link.joint.n, e) for link, e in zip(self.links, ends, strict=True)}
        self.ndof = robot.ndof
        assert self.model.nv == self.ndof
        above = {j.find("child").get("link"): j.get("name") for j in ElementTree.parse(path).getroot().findall("joint")}
        self.rows = np.zeros(self.ndof, dtype=int)
        for link in self.links:
            first = self.model.joints[self.model.getJointId(above.get(link.name, "root_joint"))].idx_v
            self.rows[self.own[link.name]] = first + np.arange(link.joint.n)
        self.data = self.model.createData()

    def frame(self, q: np.ndarray, name: str) -> np.ndarray:
        """Pose (4, 4) of a link of the file, those that are fixed to others too."""
        pin.framesForwardKinematics(self.model, self.data, self.configuration(q))
        return self.data.oMf[self.model.getFrameId(name, pin.BODY)].homogeneous
