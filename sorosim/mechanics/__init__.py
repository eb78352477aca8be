"""Robots and their equations: parts, kinematics, dynamics, derivatives."""
