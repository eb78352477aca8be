"""Frozen descriptions of a robot's parts, checked when they are made, and their compilation to flat arrays."""
