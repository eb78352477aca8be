"""Fitting numbers of a robot to measurements."""
