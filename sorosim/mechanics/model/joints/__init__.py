"""Joints, a file a kind: coordinates, twists, rows of a loop that it closes, springs and dampers along them."""

from sorosim.mechanics.model.joints.base import ACTING, CREEP, ONSET, Joint, JointType, Limit, MovingJoint, Stage

__all__ = ["ACTING", "CREEP", "ONSET", "Joint", "JointType", "Limit", "MovingJoint", "Stage"]
