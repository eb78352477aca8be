"""Sweeps: the same robot at many points of its inputs, driven coordinates and numbers of its file."""
