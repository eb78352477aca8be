"""The same robot in SDF as in a URDF file, written by the rules of the two formats alone."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

TYPES = {"continuous": "revolute", "floating": None}


def _pose(element):
    """Pose (4, 4) of an element with an origin."""
    origin, g = element.find("origin") if element is not None else None, np.eye(4)
    if origin is not None:
        g[:3, 3] = [float(x) for x in origin.get("xyz", "0 0 0").split()]
        g[:3, :3] = Rotation.from_euler("xyz", [float(x) for x in origin.get("rpy", "0 0 0").split()]).as_matrix()
    return g


def _text(numbers):
    return " ".join(repr(float(x)) for x in numbers)


def _written(g, form, attributes=""):
    if form == "quaternion":
        quaternion = Rotation.from_matrix(g[:3, :3]).as_quat()
        return f'<pose rotation_format="quat_xyzw"{attributes}>{_text([*g[:3, 3], *quaternion])}</pose>'
    degrees = form == "degrees"
    angles = Rotation.from_matrix(g[:3, :3]).as_euler("xyz", degrees=degrees)
    unit = ' degrees="true"' if degrees else ""
    return f"<pose{unit}{attributes}>{_text([*g[:3, 3], *angles])}</pose>"


def sdf_of(path: Path, version: str, form: str = "radians") -> str:
    """The text of an SDF file.

    Parameters
    ----------
    version : str
        Below 1.7 all poses are those of links in the model, and below 1.5 axes are in its frame; from 1.7 on
        poses are relative to joints, as in URDF.
    form : str
        How rotations are written: radians, degrees or quaternion.
    """
    robot = ElementTree.parse(path).getroot()
    above = {joint.find("child").get("link"): joint for joint in robot.findall("joint")}
    minor = int(version.split(".")[1])

    def in_model(link):
        joint = above.get(link)
        return np.eye(4) if joint is None else in_model(joint.find("parent").get("link")) @ _pose(joint)

    parts = []
    for link in robot.findall("link"):
        name, own = link.get("name"), link.find("inertial")
        if minor >= 7 and name in above:
            pose = f"<pose relative_to='{above[name].get('name')}'/>"
        else:
            pose = _written(in_model(name), form)
        moments = own.find("inertia").attrib if own is not None else dict.fromkeys(("ixx", "iyy", "izz"), "0")
        mass = own.find("mass").get("value") if own is not None else "0"  # without an inertial it would be 1 kg
        inertia = "".join(f"<{key}>{value}</{key}>" for key, value in moments.items())
        inertial = f"{_written(_pose(own), form)}<mass>{mass}</mass><inertia>{inertia}</inertia>"
        parts.append(f"<link name='{name}'>{pose}<inertial>{inertial}</inertial></link>")
    for name, joint in ((joint.get("name"), joint) for joint in robot.findall("joint")):
        parent, child = (joint.find(end).get("link") for end in ("parent", "child"))
        kind = joint.get("type")
        pose = _written(_pose(joint), form, f" relative_to='{parent}'") if minor >= 7 else ""
        axis = ""
        if kind != "fixed":
            xyz = joint.find("axis")
            xyz = np.array([float(x) for x in (xyz.get("xyz") if xyz is not None else "1 0 0").split()])
            if minor < 5:
                xyz = in_model(child)[:3, :3] @ xyz
            dynamics, limit = joint.find("dynamics"), joint.find("limit")
            acting = "".join(f"<{k}>{v}</{k}>" for k, v in dynamics.items()) if dynamics is not None else ""
            ends = "".join(f"<{k}>{limit.get(k, '0')}</{k}>" for k in ("lower", "upper")) if limit is not None else ""
            ends = "" if kind == "continuous" else ends
            axis = f"<axis><xyz>{_text(xyz)}</xyz><limit>{ends}</limit><dynamics>{acting}</dynamics></axis>"
        if kind == "continuous" and minor < 7:
            kind = "revolute"
        parts.append(
            f"<joint name='{name}' type='{kind}'>{pose}<parent>{parent}</parent><child>{child}</child>{axis}</joint>"
        )
    return f"<sdf version='{version}'><model name='{robot.get('name')}'>{''.join(parts)}</model></sdf>"
