"""Statics and dynamics of soft-rigid robots.

The public names are loaded at their first use (PEP 562), so that ``import sorosim`` stays light. ``statics`` lives in
``equilibria`` and ``simulate`` in ``simulation``: a package ``statics`` would take the place of the function of that
name in this namespace as soon as anything imports it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sorosim.errors import (
    ConvergenceError,
    ExpressionError,
    FileError,
    InputError,
    Interrupted,
    ModelError,
    SorosimError,
    SorosimWarning,
)

if TYPE_CHECKING:
    from sorosim.actuation.chamber import Chamber
    from sorosim.actuation.distributed_moment import DistributedMoment
    from sorosim.actuation.joint_force import JointForce
    from sorosim.actuation.loop_force import LoopForce
    from sorosim.actuation.route import Run
    from sorosim.actuation.servo import Servo
    from sorosim.actuation.tendon import Tendon
    from sorosim.bifurcation.continuation import continuation
    from sorosim.constraints.loop import Loop
    from sorosim.doctor import examine
    from sorosim.equilibria.assembly import assemble
    from sorosim.equilibria.statics import follow, statics
    from sorosim.equilibria.steady_motion import steady
    from sorosim.io import dump, load
    from sorosim.loads.contact import Contact, Surface
    from sorosim.loads.contact_law import ContactLaw
    from sorosim.loads.fluid import Fluid
    from sorosim.loads.immersion import Immersed, PlacedShape
    from sorosim.loads.line_load import LineLoad
    from sorosim.loads.spring import Spring
    from sorosim.loads.wrench import Wrench
    from sorosim.model.anchor import Anchor
    from sorosim.model.basis import ReferenceStrain, Strain
    from sorosim.model.body import Assembly, RigidBody, Solid
    from sorosim.model.description import Description
    from sorosim.model.joints import Joint, Limit
    from sorosim.model.joints.cylindrical import Cylindrical
    from sorosim.model.joints.fixed import Fixed
    from sorosim.model.joints.free import Free
    from sorosim.model.joints.helical import Helical
    from sorosim.model.joints.planar import Planar
    from sorosim.model.joints.prismatic import Prismatic
    from sorosim.model.joints.revolute import Revolute
    from sorosim.model.joints.spherical import Spherical
    from sorosim.model.joints.universal import Universal
    from sorosim.model.link import Link
    from sorosim.model.material import Material
    from sorosim.model.mesh import Mesh
    from sorosim.model.obstacle import Bowl, HalfSpace, HeightField, Pipe, Plane, Pole
    from sorosim.model.pose import Pose, Rotation
    from sorosim.model.profile import Table
    from sorosim.model.rod import Division, Rod
    from sorosim.model.section import Circle, Ellipse, HollowCircle, Properties, Rectangle
    from sorosim.model.shape import Box, Capsule, Cone, Cylinder, Ellipsoid, Sphere
    from sorosim.model.visual import Visual
    from sorosim.opening import open_result as open
    from sorosim.robot import Robot
    from sorosim.sensitivity import scalars, sensitivities
    from sorosim.sensors.kinds import (
        AccelerationSensor,
        Imu,
        JointWrenchSensor,
        LoadSensor,
        LoopWrenchSensor,
        PoseSensor,
        StrainSensor,
        TendonSensor,
        TwistSensor,
    )
    from sorosim.simulation.simulate import resume, simulate
    from sorosim.sweeps.driver import sweep
    from sorosim.viz.several import export_gltf, export_html, movie, play, still

__version__ = "0.1.0"

__all__ = [
    "AccelerationSensor",
    "Anchor",
    "Assembly",
    "Bowl",
    "Box",
    "Capsule",
    "Chamber",
    "Circle",
    "Cone",
    "Contact",
    "ContactLaw",
    "ConvergenceError",
    "Cylinder",
    "Cylindrical",
    "Description",
    "DistributedMoment",
    "Division",
    "Ellipse",
    "Ellipsoid",
    "ExpressionError",
    "FileError",
    "Fixed",
    "Fluid",
    "Free",
    "HalfSpace",
    "HeightField",
    "Helical",
    "HollowCircle",
    "Immersed",
    "Imu",
    "InputError",
    "Interrupted",
    "Joint",
    "JointForce",
    "JointWrenchSensor",
    "Limit",
    "LineLoad",
    "Link",
    "LoadSensor",
    "Loop",
    "LoopForce",
    "LoopWrenchSensor",
    "Material",
    "Mesh",
    "ModelError",
    "Pipe",
    "PlacedShape",
    "Planar",
    "Plane",
    "Pole",
    "Pose",
    "PoseSensor",
    "Prismatic",
    "Properties",
    "Rectangle",
    "ReferenceStrain",
    "Revolute",
    "RigidBody",
    "Robot",
    "Rod",
    "Rotation",
    "Run",
    "Servo",
    "Solid",
    "SorosimError",
    "SorosimWarning",
    "Sphere",
    "Spherical",
    "Spring",
    "Strain",
    "StrainSensor",
    "Surface",
    "Table",
    "Tendon",
    "TendonSensor",
    "TwistSensor",
    "Universal",
    "Visual",
    "Wrench",
    "assemble",
    "continuation",
    "dump",
    "examine",
    "export_gltf",
    "export_html",
    "follow",
    "load",
    "movie",
    "open",
    "play",
    "resume",
    "scalars",
    "sensitivities",
    "simulate",
    "statics",
    "steady",
    "still",
    "sweep",
]

# public name -> (module, name there)
_LAZY = {
    "Robot": ("sorosim.robot", "Robot"),
    "assemble": ("sorosim.equilibria.assembly", "assemble"),
    "continuation": ("sorosim.bifurcation.continuation", "continuation"),
    "examine": ("sorosim.doctor", "examine"),
    "export_gltf": ("sorosim.viz.several", "export_gltf"),
    "export_html": ("sorosim.viz.several", "export_html"),
    "follow": ("sorosim.equilibria.statics", "follow"),
    "dump": ("sorosim.io", "dump"),
    "load": ("sorosim.io", "load"),
    "movie": ("sorosim.viz.several", "movie"),
    "open": ("sorosim.opening", "open_result"),
    "play": ("sorosim.viz.several", "play"),
    "resume": ("sorosim.simulation.simulate", "resume"),
    "scalars": ("sorosim.sensitivity", "scalars"),
    "sensitivities": ("sorosim.sensitivity", "sensitivities"),
    "simulate": ("sorosim.simulation.simulate", "simulate"),
    "statics": ("sorosim.equilibria.statics", "statics"),
    "steady": ("sorosim.equilibria.steady_motion", "steady"),
    "still": ("sorosim.viz.several", "still"),
    "sweep": ("sorosim.sweeps.driver", "sweep"),
}


# what a robot is made of: module -> names
_PARTS = {
    "actuation.chamber": "Chamber",
    "actuation.distributed_moment": "DistributedMoment",
    "actuation.joint_force": "JointForce",
    "actuation.loop_force": "LoopForce",
    "actuation.route": "Run",
    "actuation.servo": "Servo",
    "actuation.tendon": "Tendon",
    "constraints.loop": "Loop",
    "loads.contact": "Contact Surface",
    "loads.contact_law": "ContactLaw",
    "loads.fluid": "Fluid",
    "loads.immersion": "Immersed PlacedShape",
    "loads.line_load": "LineLoad",
    "loads.spring": "Spring",
    "loads.wrench": "Wrench",
    "model.anchor": "Anchor",
    "model.basis": "Strain ReferenceStrain",
    "model.body": "RigidBody Solid Assembly",
    "model.description": "Description",
    "model.joints": "Joint Limit",
    "model.joints.cylindrical": "Cylindrical",
    "model.joints.fixed": "Fixed",
    "model.joints.free": "Free",
    "model.joints.helical": "Helical",
    "model.joints.planar": "Planar",
    "model.joints.prismatic": "Prismatic",
    "model.joints.revolute": "Revolute",
    "model.joints.spherical": "Spherical",
    "model.joints.universal": "Universal",
    "model.link": "Link",
    "model.material": "Material",
    "model.mesh": "Mesh",
    "model.obstacle": "HalfSpace Plane Pole Pipe Bowl HeightField",
    "model.pose": "Pose Rotation",
    "model.profile": "Table",
    "model.rod": "Rod Division",
    "model.section": "Circle HollowCircle Rectangle Ellipse Properties",
    "model.shape": "Box Cylinder Cone Sphere Ellipsoid Capsule",
    "model.visual": "Visual",
    "sensors.kinds": "StrainSensor PoseSensor TwistSensor AccelerationSensor Imu TendonSensor JointWrenchSensor "
    "LoopWrenchSensor LoadSensor",
}
_LAZY |= {name: (f"sorosim.{module}", name) for module, names in _PARTS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'sorosim' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value = globals()[name] = getattr(importlib.import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
